// Folding and interaction of RNA.
#include "core/rna/rna.h"

#include <optional>
#include <utility>
#include <vector>

#include "addon/computation.h"
#include "addon/engine.h"
#include "addon/request.h"

namespace mpmml::addon {
namespace {

PairScores scores_of(const RnaScores& it) { return {it.gc, it.au, it.gu}; }

/// `Asked` is one of the addon's requests.
template <class Asked>
Request where_of(const Asked& asked) {
  Request request;
  request.backend = asked.backend;
  request.where.device = asked.device;
  request.where.device_memory = asked.device_memory;
  return request;
}

/// i and j of each pair, one after the other.
std::vector<int32_t> indices(const std::vector<BasePair>& pairs) {
  std::vector<int32_t> all;
  for (const BasePair& pair : pairs) all.insert(all.end(), {pair.i, pair.j});
  return all;
}

std::optional<std::vector<int32_t>> table_of(bool is_wanted, std::vector<int32_t>& table) {
  if (!is_wanted) return std::nullopt;
  return std::move(table);
}

std::vector<RnaFolding> answer_to(const FoldRequest& request, std::vector<Folding> foldings) {
  std::vector<RnaFolding> all;
  for (Folding& it : foldings) all.push_back({it.score, indices(it.pairs), table_of(request.wants_table, it.table)});
  return all;
}

RnaInteractions answer_to(const InteractionRequest& request, Interactions found) {
  RnaInteractions all{{}, found.steps, table_of(request.wants_table, found.table)};
  for (const Interaction& it : found.best) {
    all.best.push_back({it.score, it.alone, static_cast<double>(it.start), indices(it.within1), indices(it.within2),
                        indices(it.between)});
  }
  return all;
}

/// A promise of the answer, which `compute` of the engine gives. The report then says what computed it.
template <class Asked, class Answer>
Napi::Value answer(const Napi::CallbackInfo& info, const Asked& request, const Request& where, double* report,
                   std::atomic<int32_t>* cancel, Computed<Answer> (Engine::*compute)(const Asked&, const Request&)) {
  const auto place = [request, where] {
    return engine().is_for_gpu(request, where) ? Place::kDevice : Place::kProcessor;
  };
  const auto computed = [request, where, report, compute] {
    Computed<Answer> found = (engine().*compute)(request, where);
    report[ReportField::backend] = static_cast<double>(found.backend);
    find_name(found.backend, found.device);
    report[ReportField::device] = found.backend == BackendKind::kCpu ? -1 : found.device;
    return answer_to(request, std::move(found.answer));
  };
  return in_background(info, computed, {cancel, place});
}

}  // namespace

Napi::Value rna_fold(const Napi::CallbackInfo& info, const RnaFoldRequest& asked, double* report,
                     std::atomic<int32_t>* cancel) {
  const FoldRequest request{
      asked.strands,    scores_of(asked.within),        asked.min_loop, asked.wide, asked.wants_table,
      asked.most_bytes, {cancel, steps_done_in(report)}};
  return answer(info, request, where_of(asked), report, cancel, &Engine::fold);
}

Napi::Value rna_interact(const Napi::CallbackInfo& info, const RnaInteractRequest& asked, double* report,
                         std::atomic<int32_t>* cancel) {
  if (asked.strand1.empty()) malformed(info.Env(), "strand1");
  if (asked.reach > static_cast<int64_t>(asked.strand2.size())) malformed(info.Env(), "reach");
  const InteractionRequest request{asked.strand1,
                                   asked.strand2,
                                   scores_of(asked.within),
                                   scores_of(asked.between),
                                   asked.min_loop,
                                   asked.reach,
                                   asked.top,
                                   asked.wide,
                                   asked.wants_table,
                                   asked.most_bytes,
                                   {cancel, steps_done_in(report)}};
  return answer(info, request, where_of(asked), report, cancel, &Engine::interact);
}

}  // namespace mpmml::addon
