// Folding and interaction of RNA.
#include "core/rna/rna.h"

#include <algorithm>
#include <string>

#include "addon/computation.h"
#include "addon/engine.h"
#include "addon/request.h"
#include "core/status.h"
#include "cpu/rna.h"
#if defined(MPMML_WITH_CUDA)
#include "cuda/device/device.h"
#include "cuda/runtime/rna.h"
#endif

namespace mpmml::addon {
namespace {

PairScores scores_of(const RnaScores& it) { return {it.gc, it.au, it.gu}; }

/// Where to compute.
struct Where {
  BackendChoice backend;
  int device;
  double device_memory;  ///< 0: there is no limit
  double* report;
  double steps;  ///< of the recurrence

  /// With fewer steps one processor is done before a GPU has begun.
  static constexpr double kWorthCuda = 1e9;

  bool is_demanded() const { return backend == BackendChoice::kCuda; }
  bool may_be_cuda() const { return is_demanded() || (backend == BackendChoice::kAuto && steps > kWorthCuda); }
  void tell(BackendKind kind, int index) const {
    report[ReportField::backend] = static_cast<double>(kind);
    report[ReportField::device] = index;
  }
};

template <class Request>
Where where_of(const Request& request, double* report, double steps) {
  return {request.backend, request.device, request.device_memory, report, steps};
}

/// Calls `on_cuda` or `on_cpu`, and reports which. On its own it takes the GPU for much work that fits the GPU's memory.
template <class OnCuda, class OnCpu>
auto compute(const Where& where, [[maybe_unused]] OnCuda on_cuda, OnCpu on_cpu) {
  if (where.may_be_cuda()) {
    const std::string reason = engine().gpu_unusable(where.device);
    if (where.is_demanded() && !reason.empty()) {
      throw Error(ErrorCode::kNoCuda, "the cuda backend can't be used: " + reason);
    }
#if defined(MPMML_WITH_CUDA)
    if (reason.empty()) {
      try {
        cuda::device_name(where.device);
        auto result = on_cuda();
        where.tell(BackendKind::kCuda, where.device);
        return result;
      } catch (const Error& error) {
        if (where.is_demanded() || error.code() != ErrorCode::kOutOfMemory) throw;
      }
    }
#endif
  }
  where.tell(BackendKind::kCpu, -1);
  return on_cpu();
}

Asked asked_of(const Where& where, std::atomic<int32_t>* cancel) {
  return {cancel, [where] {
            const bool on_device = where.may_be_cuda() && engine().gpu_unusable(where.device).empty();
            return on_device ? Place::kDevice : Place::kProcessor;
          }};
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

std::vector<RnaFolding> fold(const FoldRequest& request, [[maybe_unused]] const Where& where) {
  std::vector<Folding> foldings = compute(
      where,
      [&] {
#if defined(MPMML_WITH_CUDA)
        return cuda::fold(request, where.device, where.device_memory);
#endif
      },
      [&] { return cpu::fold(request); });
  std::vector<RnaFolding> all;
  for (Folding& it : foldings) all.push_back({it.score, indices(it.pairs), table_of(request.wants_table, it.table)});
  return all;
}

RnaInteractions interact(const InteractionRequest& request, [[maybe_unused]] const Where& where) {
  Interactions found = compute(
      where,
      [&] {
#if defined(MPMML_WITH_CUDA)
        return cuda::interact(request, where.device, where.device_memory);
#endif
      },
      [&] { return cpu::interact(request); });
  RnaInteractions all{{}, found.steps, table_of(request.wants_table, found.table)};
  for (const Interaction& it : found.best) {
    all.best.push_back({it.score, it.alone, static_cast<double>(it.start), indices(it.within1), indices(it.within2),
                        indices(it.between)});
  }
  return all;
}

}  // namespace

Napi::Value rna_fold(const Napi::CallbackInfo& info, const RnaFoldRequest& asked, double* report,
                     std::atomic<int32_t>* cancel) {
  const FoldRequest request{
      asked.strands,    scores_of(asked.within),        asked.min_loop, asked.wide, asked.wants_table,
      asked.most_bytes, {cancel, steps_done_in(report)}};
  double steps = 0;
  for (const Strand& strand : request.strands) {
    const auto n = static_cast<double>(strand.size());
    steps += n * n * n / 6;
  }
  const Where where = where_of(asked, report, steps);
  return in_background(info, [request, where] { return fold(request, where); }, asked_of(where, cancel));
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
  const Where where = where_of(asked, report, interaction_steps(request));
  return in_background(info, [request, where] { return interact(request, where); }, asked_of(where, cancel));
}

}  // namespace mpmml::addon
