#include "cuda/backend.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "core/algebra/dispatch.h"
#include "core/problem/scan.h"
#include "core/problem/structured.h"
#include "core/session/blocks.h"
#include "core/status.h"
#include "cuda/device/device.h"
#include "cuda/launch/function.h"
#include "cuda/launch/kernel.h"
#include "cuda/plan/choices.h"
#include "cuda/plan/cost.h"
#include "cuda/plan/workspace.h"
#include "cuda/runtime/executor.h"
#include "cuda/runtime/host_products.h"
#include "cuda/runtime/memory_reservation.h"
#include "cuda/runtime/product.h"
#include "cuda/runtime/ranked_choice.h"
#include "cuda/runtime/rna.h"
#include "cuda/runtime/self_test.h"
#include "cuda/runtime/session.h"
#include "cuda/runtime/session_user.h"
#include "cuda/runtime/stream_k.h"

namespace mpmml::cuda {
namespace {

/// Returns whether a wgmma kernel of the exponent family supersedes the kernel on this device, so that its self-test
/// can be skipped.
bool is_second(const Kernel& kernel, const Placement& where) {
  return kernel.needs == DeviceFeature::kWarpExponents && !where.variant &&
         has_ability(where.device, DeviceFeature::kExponents);
}

/// Returns whether the launch of a product would use stream-K.
bool divides(const Variant& variant, ArithmeticKind path, const Problem& problem, int device) {
  return division_of(kernel_of(variant), launch_of(problem, {&variant, path}), device).shares > 0;
}

// Slowdown of a kernel whose instructions are emulated, as assumed by the planner.
constexpr double kSlowedDown = 8;

class CudaBackend : public Backend, private Planner {
 public:
  explicit CudaBackend(std::string architectures) : architectures_(std::move(architectures)) {
    for (const KernelVariant& row : kernel_variants()) {
      const Variant& variant = row.variant;
      variants_.push_back(&variant);
      if (variant.automatic) candidates_[{variant.semiring, variant.dtype}].push_back(&variant);
    }
  }

  BackendKind kind() const override { return BackendKind::kCuda; }
  const std::vector<const Variant*>& variants() const override { return variants_; }
  std::string unusable(int device) override {
    return cuda::unusable(device, kernel_variants().front().kernel->function(ArithmeticKind::kDirect), architectures_);
  }
  int device_count() override { return cuda::device_count(); }
  std::string refuses(const Problem& problem, const Placement& where) override;
  Plan plan(const Problem& problem, const Placement& where, const ForRuns& for_runs) override;
  Plan plan(const Problem& problem, const ValueRange& a, const ValueRange& b, const Placement& where) override;
  double estimate_ms(const Problem& problem, int device) override;
  bool runs_together(const Problem& problem, const Placement& where) override {
    return cuda::runs_together(problem, where);
  }
  std::string refuses_user(const UserProduct& product, const Placement& where) override {
    return refuses_user_product(product, where.device);
  }
  double estimate_user_ms(const UserProduct& product, int device) override { return user_product_ms(product, device); }
  std::vector<Folding> fold(const FoldRequest& request, const Placement& where) override {
    return cuda::fold(request, where.device, where.device_memory);
  }
  Interactions interact(const InteractionRequest& request, const Placement& where) override {
    return cuda::interact(request, where.device, where.device_memory);
  }
  std::unique_ptr<Session> open(int device, int64_t device_memory) override {
    return open_session(device, device_memory, *this);
  }

 private:
  VariantCost judge(const Variant& variant, ArithmeticKind path, const Problem& problem, bool numbered, int device);
  /// `numbered` is the result of numbers_fit() for the operands.
  std::function<VariantCost(const Variant&, ArithmeticKind)> judge_for(const Problem& problem, ArithmeticSet exact,
                                                                       bool numbered, const Placement& where);
  int64_t bytes(const Problem& block, const Problem& whole, const Placement& where) override;
  std::optional<Plan> plan_by_session(const Problem& problem, const Placement& where);

  const std::vector<const Variant*>& candidates(const Operation& operation) const {
    static const auto& none = *new std::vector<const Variant*>;
    const auto found = candidates_.find({operation.semiring, operation.dtype});
    return found == candidates_.end() ? none : found->second;
  }

  std::string architectures_;
  std::vector<const Variant*> variants_;
  /// Variants that the planner may select automatically.
  std::map<std::pair<SemiringId, DataType>, std::vector<const Variant*>> candidates_;
};

std::string CudaBackend::refuses(const Problem& problem, const Placement& where) {
  if (fits_device(where.device, estimate_workspace_bytes(problem), where.device_memory)) return {};
  const int64_t least = bytes(smallest_block(problem), problem, where),
                capacity = device_capacity(where.device, where.device_memory);
  if (least <= capacity) return {};
  return "a single block of the product needs " + in_mebibytes(least) + " of device memory, but device " +
         std::to_string(where.device) + " has " + in_mebibytes(capacity) + " for it: choose backend 'cpu'";
}

double CudaBackend::estimate_ms(const Problem& problem, int device) {
  // Measured on an H200: cost of a call and pageable bytes per millisecond for calls that fit one slot; both for larger
  // calls with one thread, and with several threads, which must be started; and k-steps per millisecond and
  // multiprocessor, at 35 TOPS on 132 multiprocessors.
  constexpr double kSmallCallMs = 0.06, kBytesPerMsInSlots = 1.6e7;
  constexpr double kCallMs = 0.065, kBytesPerMs = 9e6;
  constexpr double kThreadsMs = 0.9, kBytesPerMsWithThreads = 4e7;
  constexpr double kStepsPerMsAndMultiprocessor = 1.3e8;
  // Speedup of tensor cores over the other units for truth values (docs/tensor-cores.md). The self-test isn't run here,
  // because it would wake the GPU for products that the CPU computes.
  constexpr double kPairsAtOnce = 8;
  // Smallest tile. Kernels compute and pack whole tiles.
  constexpr int64_t kTile = 64;
  const DeviceLimits limits = device_limits(device);
  const double element = double(element_bytes(problem.operation.dtype));
  const double m = double(round_up(problem.m(), kTile)), n = double(round_up(problem.n(), kTile));
  const double bytes = double(operand_bytes(problem)) + double(problem.outputs()) * element;
  const double packed = sizeof(int32_t) * cost_of_step(problem.operation) * problem.k() *
                        (m * items_of(problem.a, problem.batch) + n * items_of(problem.b, problem.batch));
  // A structure reduces the steps in proportion.
  const double share = is_structured(problem) ? steps_of(problem) / (double(problem.outputs()) * problem.k()) : 1;
  const double steps = cost_of_step(problem.operation) * problem.batch * m * n * problem.k() * share;
  const double copied = has_few_bytes(problem)
                            ? kSmallCallMs + bytes / kBytesPerMsInSlots
                            : kCallMs + std::min(bytes / kBytesPerMs, kThreadsMs + bytes / kBytesPerMsWithThreads);
  // Some multiprocessors are idle if there are few tiles.
  const double tiles = problem.batch * (m / kTile) * (n / kTile);
  const double busy = std::min(double(limits.multiprocessors), tiles);
  const bool counts = is_boolean(problem.operation) && limits.capability == kHopper;
  const double steps_per_ms = kStepsPerMsAndMultiprocessor * busy * (counts ? kPairsAtOnce : 1);
  return copied + 2 * packed / limits.bytes_per_ms + steps / steps_per_ms;
}

VariantCost CudaBackend::judge(const Variant& variant, ArithmeticKind path, const Problem& problem, bool numbered,
                               int device) {
  const Kernel& kernel = kernel_for(problem, {&variant, path}, numbered, device);
  if (!has_ability(device, kernel.needs)) {
    return {"device " + std::to_string(device) +
                " doesn't compute it: it has no tensor cores for it, or a check of them has failed (`mpmml info` says "
                "which)",
            0};
  }
  const DeviceLimits limits = device_limits(device);
  const int blocks = resident_blocks(kernel, path, device);
  if (blocks == 0) {
    return {"a block of it needs " + std::to_string(kernel.shape.shared_bytes) +
                " bytes of shared memory, but device " + std::to_string(device) + " has " +
                std::to_string(limits.shared_bytes_per_block),
            0};
  }
  double clocks = estimate_clocks(kernel.shape, kernel.pack != nullptr, problem, limits, blocks);
  if (limits.capability < kernel.shape.full_speed_from) clocks *= kSlowedDown;
  const Kernel& plain = kernel_of(variant);
  const bool in_chunks = &kernel == plain.in_chunks,
             searches = problem.witness.data && (in_chunks || &kernel == &plain);
  if (searches) clocks += estimate_search_clocks(in_chunks, problem, limits);
  return {{}, clocks};
}

std::function<VariantCost(const Variant&, ArithmeticKind)> CudaBackend::judge_for(const Problem& problem,
                                                                                  ArithmeticSet exact, bool numbered,
                                                                                  const Placement& where) {
  // Measured choices are keyed by the cheapest exact arithmetic that the device supports.
  const auto needs_exponents = [&](ArithmeticKind path) { return exact.has(path); };
  if (std::any_of(std::begin(kExponentPaths), std::end(kExponentPaths), needs_exponents) &&
      !has_exponents(where.device)) {
    for (const ArithmeticKind path : kExponentPaths) exact.remove(path);
  }
  // Choices are measured without auxiliary outputs and structures.
  const std::optional<MeasuredChoice> measured = where.variant || requested_auxiliary(problem) || is_structured(problem)
                                                     ? std::nullopt
                                                     : measured_choice(device_name(where.device), problem, exact);
  // The product of the measurement.
  Problem like = problem;
  double clocks_of_choice = 0, clocks_of_measured = 0;
  if (measured) {
    like.batch = measured->batch;
    like.a.rows = measured->m;
    like.a.cols = like.b.rows = measured->k;
    like.b.cols = measured->n;
    find_plan(problem.operation, exact, {}, measured->variant, [&](const Variant& variant, ArithmeticKind path) {
      const VariantCost judgement = judge(variant, path, problem, numbered, where.device);
      clocks_of_choice = judgement.cost;
      clocks_of_measured = judge(variant, path, like, numbered, where.device).cost;
      return judgement;
    });
  }
  return [this, &problem, measured, like, clocks_of_choice, clocks_of_measured, numbered, &where](
             const Variant& variant, ArithmeticKind path) -> VariantCost {
    if (is_second(kernel_of(variant), where)) return {"the family exponent takes less time", 0};
    VariantCost judgement = judge(variant, path, problem, numbered, where.device);
    if (!measured || !judgement.refusal.empty()) return judgement;
    // A choice applies to all products similar to the measured one, but wave quantization differs between them. So
    // other kernels are compared with the choice by estimates, with a margin for the relative error of the estimates.
    // If an estimate prefers another kernel for the measured product, too, its error there is an additional margin. The
    // margin of stream-K kernels is smaller, because they fill their waves.
    constexpr double kEstimatesErr = 0.1, kEstimatesOfDividedErr = 0.05;
    if (&variant == measured->variant) {
      judgement.cost = 0;
      return judgement;
    }
    judgement.cost *= 1 + (divides(variant, path, problem, where.device) ? kEstimatesOfDividedErr : kEstimatesErr);
    if (judgement.cost < clocks_of_choice) {
      judgement.cost *= std::max(1.0, clocks_of_measured / judge(variant, path, like, numbered, where.device).cost);
    }
    judgement.cost -= clocks_of_choice;
    return judgement;
  };
}

Plan CudaBackend::plan(const Problem& problem, const Placement& where, const ForRuns& for_runs) {
  const Operation& operation = problem.operation;
  if (scans_lines(problem, where, *this)) {
    if (const std::optional<Plan> found = plan_by_session(problem, where)) return *found;
  }
  ValueRange a, b;
  if (can_overflow(operation)) {
    a = scan_matrices(operation, problem.a, problem.batch, problem.structure.a, for_runs);
    b = scan_matrices(operation, problem.b, problem.batch, problem.structure.b, for_runs);
  }
  return plan(problem, a, b, where);
}

/// Returns the plan of a session that reads copies of the operands; nothing if the device has too little memory for
/// them.
std::optional<Plan> CudaBackend::plan_by_session(const Problem& problem, const Placement& where) {
  if (!fits_device(where.device, operand_bytes(problem), where.device_memory)) return std::nullopt;
  const std::unique_ptr<Session> session = open(where.device, where.device_memory);
  session->set_cancelled(problem.cancelled);
  try {
    return session->plan(problem, where);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory) throw;
    return std::nullopt;
  }
}

Plan CudaBackend::plan(const Problem& problem, const ValueRange& a, const ValueRange& b, const Placement& where) {
  if (!problem.has_steps()) return plan_without_steps(problem.operation, variants(), where.variant);
  const ArithmeticSet exact = exact_arithmetics(problem.operation, a, b);
  return make_plan(problem.operation, exact, candidates(problem.operation), where.variant,
                   judge_for(problem, exact, numbers_fit(a, b, problem.k()), where));
}

/// Returns the maximum bytes that the block can need with any kernel that may be selected.
int64_t CudaBackend::bytes(const Problem& part, const Problem& problem, const Placement& where) {
  int64_t widened = 0, others = 0;
  const BlockPartition partition = partition_into_blocks(part);
  const Operand a(part.operation, part.a, part.batch), b(part.operation, part.b, part.batch);
  const auto consider = [&](const Plan& plan, const Kernel& kernel) {
    if (is_second(kernel, where) || !has_ability(where.device, kernel.needs)) return;
    const RegionPlan planned = plan_region(part, plan, kernel, whole(part), part, a, b, where.device, false);
    widened = std::max(widened, widened_bytes(part, kernel));
    others = std::max(others, packed_bytes(part, partition, plan, kernel) + planned.room_bytes);
  };
  const auto consider_variant = [&](const Variant& variant) {
    for (int index = 0; index < kRangePaths; ++index) {
      const Plan plan{&variant, static_cast<ArithmeticKind>(index)};
      if (!variant.paths.has(plan.path)) continue;
      consider(plan, kernel_for(part, plan, false, where.device));
      if (part.witness.data) consider(plan, kernel_for(part, plan, true, where.device));
    }
  };
  if (where.variant) {
    consider_variant(*where.variant);
  } else {
    for (const Variant* variant : candidates(problem.operation)) consider_variant(*variant);
    // The ranked family isn't a candidate of the planner, because a sample decides on it.
    const ArithmeticSet any{ArithmeticKind::kDirect, ArithmeticKind::kTranslated};
    const std::optional<Plan> ranked = ranked_plan(part, {nullptr, ArithmeticKind::kDirect}, any, where);
    if (ranked) consider(*ranked, kernel_of(*ranked->variant));
  }
  return matrix_bytes(part) + widened + others;
}

}  // namespace

std::unique_ptr<Backend> make_backend(std::string architectures) {
  return std::make_unique<CudaBackend>(std::move(architectures));
}

}  // namespace mpmml::cuda
