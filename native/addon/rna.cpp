// Folding and interaction of RNA.
#include "core/rna/rna.h"

#include <utility>

#include "addon/computation.h"
#include "addon/engine.h"
#include "addon/request.h"

namespace mpmml::addon {
namespace {

/// `Query` is one of the addon's requests.
template <class Query>
Request where_of(const Query& asked) {
  Request request;
  request.backend = asked.backend;
  request.where.device = asked.device;
  request.where.device_memory = asked.device_memory;
  return request;
}

/// Returns a promise of the result of the engine's `compute`. The report then has the backend and device.
template <class Query, class Core, class Answer>
Napi::Value answer(const Napi::CallbackInfo& info, const Query& asked, double* report, std::atomic<int32_t>* cancel,
                   Computed<Answer> (Engine::*compute)(const Core&, const Request&)) {
  Query request = asked;
  request.watch = {cancel, steps_done_in(report)};
  const auto place = [request] {
    return engine().is_for_gpu(request, where_of(request)) ? Place::kDevice : Place::kProcessor;
  };
  const auto computed = [request, report, compute] {
    Computed<Answer> found = (engine().*compute)(request, where_of(request));
    report[ReportField::backend] = static_cast<double>(found.backend);
    find_name(found.backend, found.device);
    report[ReportField::device] = found.backend == BackendKind::kCpu ? -1 : found.device;
    return std::move(found.answer);
  };
  return in_background(info, computed, {cancel, place});
}

}  // namespace

PairScores In::pair_scores() const {
  const auto it = record<RnaScores>();
  return {it.gc, it.au, it.gu};
}

Napi::Value rna_fold(const Napi::CallbackInfo& info, const RnaFoldRequest& asked, double* report,
                     std::atomic<int32_t>* cancel) {
  return answer(info, asked, report, cancel, &Engine::fold);
}

Napi::Value rna_interact(const Napi::CallbackInfo& info, const RnaInteractRequest& asked, double* report,
                         std::atomic<int32_t>* cancel) {
  if (asked.strand1.empty()) malformed(info.Env(), "strand1");
  if (asked.reach > static_cast<int64_t>(asked.strand2.size())) malformed(info.Env(), "reach");
  return answer(info, asked, report, cancel, &Engine::interact);
}

}  // namespace mpmml::addon
