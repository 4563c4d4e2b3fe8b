#include "cpu/backend.h"

#include <algorithm>
#include <limits>

#include "core/algebra/dispatch.h"
#include "core/problem/structured.h"
#include "cpu/loop.h"
#include "cpu/machine.h"
#include "cpu/planner.h"
#include "cpu/product.h"
#include "cpu/rna.h"
#include "cpu/session.h"
#include "cpu/threads.h"
#include "cpu/user_product.h"

namespace mpmml::cpu {
namespace {

class CpuBackend final : public Backend {
 public:
  BackendKind kind() const override { return BackendKind::kCpu; }
  const std::vector<const Variant*>& variants() const override { return planner_.variants(); }
  std::string unusable(int) override {
    const auto& misconfigured = planner_.settings().misconfigured;
    return misconfigured ? misconfigured->what() : "";
  }
  std::string refuses(const Problem&, const Placement&) override { return {}; }

  ForRuns for_runs(const Problem& problem) override { return scan_runs_of(problem); }
  Plan plan(const Problem& problem, const Placement& where, const ForRuns&) override {
    return planner_.plan(problem, scan(problem), where.variant);
  }

  std::optional<Outcome> multiply(const Problem& problem, const Placement& where) override {
    return compute(problem, where.variant, planner_);
  }

  double estimate_ms(const Problem& problem, int) override {
    // Measured on Zen 4 and Sapphire Rapids: steps per millisecond and core, bytes packed per millisecond, and the cost
    // of waking a thread, which pays off from about a million steps on.
    constexpr double kStepsPerMs = 2.5e7;
    constexpr double kPackedBytesPerMs = 1e7;
    constexpr double kWakingMs = 0.006;
    constexpr double kStepsPerThread = 1e6;
    if (planner_.settings().misconfigured) return std::numeric_limits<double>::infinity();
    // The skinny kernel packs nothing, and all threads share the reading of the wide operand.
    const Kernel& kernel = planner_.kernel_of(*planner_.likely_variant(problem, nullptr));
    const bool reads_in_place = kernel.thin.accumulate;
    const double element = double(element_bytes(problem.operation.dtype));
    const double step_bytes =
        reads_in_place ? element : double(kernel.packed.operand_size) / kernel.packed.steps_per_operand;
    const double steps = steps_of(problem) * step_bytes / element;
    const std::string& isa = planner_.settings().instruction_set;
    const double vectors = (isa == "avx512" || isa == "avx2" ? 1 : 4) * element / 4;
    const double threads = std::clamp(steps / kStepsPerThread, 1.0, 0.85 * thread_count());
    const double bytes = element * double(problem.k()) * (problem.m() + problem.n()) * problem.batch;
    return vectors * steps / (kStepsPerMs * threads) + bytes / (kPackedBytesPerMs * (reads_in_place ? threads : 1)) +
           (threads > 1 ? kWakingMs * threads : 0);
  }

  std::string refuses_user(const UserProduct&, const Placement&) override { return {}; }
  double estimate_user_ms(const UserProduct& product, int) override { return cpu::estimate_user_ms(product); }

  std::vector<Folding> fold(const FoldRequest& request, const Placement&) override { return cpu::fold(request); }
  Interactions interact(const InteractionRequest& request, const Placement&) override { return cpu::interact(request); }

  std::unique_ptr<Session> open(int, int64_t) override {
    planner_.require_settings();
    return open_session(planner_);
  }

 private:
  const Planner planner_;
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<CpuBackend>(); }

CpuInfo info() { return {processor_model(), chosen_instruction_set(), supported_instruction_sets(), thread_count()}; }

}  // namespace mpmml::cpu
