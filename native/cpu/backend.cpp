#include "cpu/backend.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <iterator>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>

#include "core/destination.h"
#include "core/dispatch.h"
#include "core/host_memory.h"
#include "core/scan.h"
#include "core/status.h"
#include "core/structured.h"
#include "cpu/first_true_product.h"
#include "cpu/kernel.h"
#include "cpu/loop.h"
#include "cpu/machine.h"
#include "cpu/masked.h"
#include "cpu/product.h"
#include "cpu/session.h"
#include "cpu/thin_product.h"
#include "cpu/threads.h"
#include "cpu/widened.h"

namespace mpmml::cpu {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The instruction set that a variant is compiled for; null if it runs on any.
const char* instruction_set(const Variant& variant) {
  for (const Parameter& parameter : variant.parameters) {
    if (std::strcmp(parameter.name, "isa") == 0) return parameter.value;
  }
  return nullptr;
}

class CpuBackend final : public Backend {
 public:
  CpuBackend() {
    const std::vector<std::string> supported = supported_instruction_sets();
    for (const KernelVariant& row : kernel_variants()) {
      variants_.push_back(&row.variant);
      const char* isa = instruction_set(row.variant);
      const bool runs = !isa || std::find(supported.begin(), supported.end(), isa) != supported.end();
      known_[&row.variant] = {row.kernel,
                              runs ? "" : "this processor doesn't have the instruction set " + std::string(isa)};
    }
  }

  BackendKind kind() const override { return BackendKind::kCpu; }
  const std::vector<const Variant*>& variants() const override { return variants_; }
  std::string unusable(int) override { return settled().misconfigured ? settled().misconfigured->what() : ""; }
  std::string refuses(const Problem&, const Placement&) override { return {}; }

  bool scans_lines(const Problem&, const Placement&) override { return false; }
  ForRuns for_runs(const Problem& problem) override { return scan_runs_of(problem); }
  Plan plan(const Problem& problem, const ValueRange& a, const ValueRange& b, const Placement& where) override {
    return plan(problem, exact_paths(problem.operation, a, b), where.variant, likely_variant(problem, where.variant));
  }

  double estimate_ms(const Problem& problem, int) override {
    // Measured on Zen 4 and Sapphire Rapids: steps per millisecond and core, bytes packed per millisecond, and the cost
    // of waking a thread, which pays off from about a million steps on.
    constexpr double kStepsPerMs = 2.5e7;
    constexpr double kPackedBytesPerMs = 1e7;
    constexpr double kWakingMs = 0.006;
    constexpr double kStepsPerThread = 1e6;
    if (settled().misconfigured) return std::numeric_limits<double>::infinity();
    // If one operand has few lanes and the other many, nothing is packed, and threads share the reading.
    const Kernel& kernel = kernel_of(*likely_variant(problem, nullptr));
    const bool reads_in_place = kernel.thin.accumulate;
    const double element = double(element_bytes(problem.operation.dtype));
    const double step_bytes =
        reads_in_place ? element : double(kernel.packed.operand_size) / kernel.packed.steps_per_operand;
    const double steps = steps_of(problem) * step_bytes / element;
    const std::string& isa = settled().instruction_set;
    const double vectors = (isa == "avx512" || isa == "avx2" ? 1 : 4) * element / 4;
    const double threads = std::clamp(steps / kStepsPerThread, 1.0, 0.85 * thread_count());
    const double bytes = element * double(problem.k()) * (problem.m() + problem.n()) * problem.batch;
    return vectors * steps / (kStepsPerMs * threads) + bytes / (kPackedBytesPerMs * (reads_in_place ? threads : 1)) +
           (threads > 1 ? kWakingMs * threads : 0);
  }

  Outcome run(const Problem& problem, const Placement& where) override {
    chosen();  // Wrong settings make every product fail.
    claim_result(problem);
    try {
      return problem.has_int16() ? multiply(WidenedProblem(problem).problem(), where.variant)
                                 : multiply(problem, where.variant);
    } catch (const std::bad_alloc&) {
      throw Error(ErrorCode::kOutOfMemory, "the cpu backend found no memory for a product of " +
                                               std::to_string(problem.batch) + " × [" + std::to_string(problem.m()) +
                                               ", " + std::to_string(problem.k()) + "] by [" +
                                               std::to_string(problem.k()) + ", " + std::to_string(problem.n()) + "]");
    }
  }

  std::unique_ptr<Session> open(int, int64_t) override {
    chosen();
    return open_session(*this);
  }

 private:
  /// C takes memory only now if it was made for this product.
  static void claim_result(const Problem& problem) {
    const MutableMatrixView& c = problem.c;
    if (c.memory || !c.data || problem.outputs() == 0) return;
    const int64_t last =
        (problem.batch - 1) * c.batch_stride + (c.rows - 1) * c.row_stride + (c.cols - 1) * c.col_stride;
    claim_memory(c.data, static_cast<size_t>((last + 1) * element_bytes(problem.operation.dtype)), "the result");
  }

  /// What the settings select. The first product works it out, because the backend is made before the settings are
  /// known.
  struct Chosen {
    std::string instruction_set;
    /// Variants that the planner may choose by itself, by semiring and element type. Listed in advance because a small
    /// product takes only a microsecond.
    std::vector<const Variant*> variants[std::size(kSemiringNames)][std::size(kDataTypeNames)];
    std::optional<Error> misconfigured;
  };

  const Chosen& settled() const {
    if (!is_settled_.load(std::memory_order_acquire)) settle_choice();
    return chosen_;
  }

  void settle_choice() const {
    const std::lock_guard<std::mutex> lock(chosen_mutex_);
    if (is_settled_.load(std::memory_order_relaxed)) return;
    try {
      chosen_.instruction_set = chosen_instruction_set();
      thread_count();
    } catch (const Error& error) {
      chosen_.misconfigured = error;
    }
    for (const Variant* variant : variants_) {
      const char* isa = instruction_set(*variant);
      if (!isa || isa == chosen_.instruction_set) {
        chosen_.variants[static_cast<int>(variant->semiring)][static_cast<int>(variant->dtype)].push_back(variant);
      }
    }
    is_settled_.store(true, std::memory_order_release);
  }

  /// The same, for callers that need valid settings. Throws Error(kOption) if the settings are wrong.
  const Chosen& chosen() const {
    if (settled().misconfigured) throw Error(*chosen_.misconfigured);
    return chosen_;
  }

  const std::vector<const Variant*>& candidates(const Operation& operation) const {
    return chosen().variants[static_cast<int>(operation.semiring)][static_cast<int>(operation.dtype)];
  }

  /// What the registry and this processor say about a variant.
  struct Known {
    const Kernel* kernel;
    std::string refusal;
  };

  const Known& known(const Variant& variant) const {
    const auto row = known_.find(&variant);
    if (row != known_.end()) return row->second;
    throw Error(ErrorCode::kVariant, "variant " + std::string(variant.name) + " isn't one of the cpu backend's");
  }
  const Kernel& kernel_of(const Variant& variant) const { return *known(variant).kernel; }
  /// Why a variant can't run a product here; empty if it can.
  std::string refusal(const Problem& problem, const Variant& variant) const {
    const Known& it = known(variant);
    if (it.kernel->thin.accumulate && has_structured_operands(problem) && adds_floats(problem.operation)) {
      return "it reads operands as a whole, and can't leave out what is outside of a structure: choose another one";
    }
    return it.refusal;
  }

  static bool has_structured_operands(const Problem& problem) {
    const auto& [a, b, c] = problem.structure;
    return !a.is_all(problem.m(), problem.k()) || !b.is_all(problem.k(), problem.n());
  }

  /// In hundredths of a nanosecond on a processor with AVX2. Only the ratios matter.
  static double cost_of(const Problem& problem, const Kernel& kernel) {
    const double steps = static_cast<double>(problem.outputs()) * static_cast<double>(problem.k());
    const bool reads_in_place = kernel.thin.accumulate;
    if (reads_in_place != is_thin(problem)) return std::numeric_limits<double>::infinity();
    if (reads_in_place) return kernel.thin.operand_size * steps;
    return 0.5 * kernel.packed.operand_size * steps / kernel.packed.steps_per_operand;
  }

  /// The elements of a product's operands.
  static double elements_of(const Problem& problem) {
    const double lanes = static_cast<double>(problem.m()) + static_cast<double>(problem.n());
    return static_cast<double>(problem.batch) * static_cast<double>(problem.k()) * lanes;
  }

  /// Whether it is worth sampling some elements, to tell which variant is likely.
  static bool is_sampled(const Problem& problem) { return elements_of(problem) >= 1 << 16; }

  /// What it costs that the values must be known before the operands are packed: scanning them, or packing them twice.
  static double cost_of_knowing(const Problem& problem) {
    return (is_sampled(problem) ? 10.0 : 50.0) * elements_of(problem);
  }

  /// The plan for values that allow the paths `exact`. `packed` is the variant that the operands are packed for if nothing is
  /// known of them; null if that is no matter.
  Plan plan(const Problem& problem, PathSet exact, const Variant* requested, const Variant* packed) const {
    return make_plan(problem.operation, exact, candidates(problem.operation), requested,
                     [&](const Variant& variant, RangePath) {
                       double cost = cost_of(problem, kernel_of(variant));
                       if (packed && &variant != packed) cost += cost_of_knowing(problem);
                       return Judgement{refusal(problem, variant), cost};
                     });
  }

  /// The plain kernel can compute most products, so it starts before the ranges are known.
  const Variant* likely_variant(const Problem& problem, const Variant* requested) const {
    const PathSet likely{can_overflow(problem.operation) ? RangePath::kTranslated : RangePath::kDirect};
    if (!requested) return plan(problem, likely, nullptr, nullptr).variant;
    if (!kernel_of(*requested).packed.takes_offsets) return requested;
    return make_plan(problem.operation, likely, candidates(problem.operation), nullptr,
                     [&](const Variant& variant, RangePath) {
                       return Judgement{kernel_of(variant).packed.multiply ? "" : "its operands aren't packed", 0};
                     })
        .variant;
  }

  /// Whether some of the elements suggest that another variant than `likely` will be chosen. Then the values are scanned
  /// first, which takes less time than packing the operands twice.
  bool is_unlikely(const Variant& likely, const Problem& problem, const Variant* requested) const {
    if (!can_overflow(problem.operation)) return false;
    if (requested) return requested != &likely;
    if (!is_sampled(problem)) return false;
    const Ranges some = sample(problem);
    return plan(problem, exact_paths(problem.operation, some.a, some.b), nullptr, &likely).variant != &likely;
  }

  Outcome multiply(const Problem& problem, const Variant* requested) {
    const Clock::time_point start = Clock::now();
    if (requested) {
      check_requested(problem.operation, *requested);
      const std::string refused = refusal(problem, *requested);
      if (!refused.empty()) {
        throw Error(ErrorCode::kVariant,
                    "variant " + std::string(requested->name) + " can't run this product: " + refused);
      }
      if (kernel_of(*requested).rows.multiply) return multiply_where_they_are(problem, *requested, start);
      if (kernel_of(*requested).thin.accumulate && has_structured_operands(problem)) {
        return multiply(MaskedProblem(problem).problem(), requested);
      }
    }
    const Variant* likely = likely_variant(problem, requested);
    if (kernel_of(*likely).thin.accumulate) return multiply_thin(problem, requested, *likely, start);
    if (problem.witness.data && kernel_of(*likely).first_true.multiply) return find_first_true(problem, *likely, start);
    std::optional<PackedProduct> product;
    const Ranges ranges = ranges_of(problem, [&] {
      if (is_unlikely(*likely, problem, requested)) return scan(problem);
      return product.emplace(problem, kernel_of(*likely).packed).ranges();
    });
    Outcome outcome;
    outcome.plan =
        plan(problem, exact_paths(problem.operation, ranges.a, ranges.b), requested, problem.known ? nullptr : likely);
    const Destination destination = destination_of(problem, outcome.plan);
    if (!product || outcome.plan.variant != likely) {
      product.emplace(problem, kernel_of(*outcome.plan.variant).packed, ranges, outcome.plan.path);
    }
    settle(problem, destination, product->multiply(outcome.plan.path, destination.view()), outcome);
    outcome.timing.kernel = milliseconds_since(start);
    return outcome;
  }

  Outcome multiply_thin(const Problem& problem, const Variant* requested, const Variant& likely,
                        Clock::time_point start) const {
    std::optional<ThinProduct> product;
    const RangePath any = !can_overflow(problem.operation)                      ? RangePath::kDirect
                          : problem.operation.overflow == OverflowPolicy::kWrap ? RangePath::kWrapping
                                                                                : RangePath::kWide;
    const Ranges ranges =
        ranges_of(problem, [&] { return product.emplace(problem, kernel_of(likely)).accumulate(any); });
    Outcome outcome;
    outcome.plan = plan(problem, exact_paths(problem.operation, ranges.a, ranges.b), requested, nullptr);
    if (!product || outcome.plan.variant != &likely) {
      product.emplace(problem, kernel_of(*outcome.plan.variant)).accumulate(outcome.plan.path);
    }
    const Destination destination = destination_of(problem, outcome.plan);
    settle(problem, destination, product->finish(outcome.plan.path, destination.view()), outcome);
    outcome.timing.kernel = milliseconds_since(start);
    return outcome;
  }

  /// Truth values can't overflow, so nothing is to be known of them.
  Outcome find_first_true(const Problem& problem, const Variant& variant, Clock::time_point start) const {
    Outcome outcome;
    outcome.plan = plan(problem, exact_paths(problem.operation, {}, {}), &variant, nullptr);
    const Destination destination = destination_of(problem, outcome.plan);
    multiply_first_true(problem, kernel_of(variant).first_true, destination.view());
    settle(problem, destination, kNoOverflow, outcome);
    outcome.timing.kernel = milliseconds_since(start);
    return outcome;
  }

  Outcome multiply_where_they_are(const Problem& problem, const Variant& requested, Clock::time_point start) const {
    const Ranges ranges = ranges_of(problem, [&] { return scan(problem); });
    Outcome outcome;
    outcome.timing.analysis = milliseconds_since(start);
    outcome.plan = plan(problem, exact_paths(problem.operation, ranges.a, ranges.b), &requested, nullptr);
    const Destination destination = destination_of(problem, outcome.plan);
    const RowsKernel& kernel = kernel_of(requested).rows;
    settle(problem, destination, multiply_rows(problem, kernel, outcome.plan.path, destination.view()), outcome);
    outcome.timing.kernel = milliseconds_since(start) - outcome.timing.analysis;
    return outcome;
  }

  /// What is known of the operands, or else what `scan` finds.
  template <class Scan>
  static Ranges ranges_of(const Problem& problem, Scan scan) {
    if (problem.known) {
      const ValueRange& known = problem.known_operands ? *problem.known_operands : *problem.known;
      return {known, known};
    }
    const Ranges ranges = scan();
    require_elements(problem, ranges.a, ranges.b);
    return ranges;
  }

  static Destination destination_of(const Problem& problem, const Plan& plan) {
    return Destination(problem, may_overflow(problem, plan.path));
  }

  static void settle(const Problem& problem, const Destination& destination, int64_t overflow, Outcome& outcome) {
    if (problem.operation.overflow == OverflowPolicy::kThrow && overflow != kNoOverflow) {
      outcome.overflow = overflow;
      return;
    }
    // Copying a result takes as long as this many k-steps.
    constexpr int64_t kStepsPerCopy = 8, kStepsAtOnce = 1 << 20;
    destination.commit([&](int64_t rows, const Destination::CopyRows& copy) {
      for_each_run(problem, rows, saturating_product(problem.outputs(), kStepsPerCopy), kStepsAtOnce, copy);
    });
  }

  std::unordered_map<const Variant*, Known> known_;
  std::vector<const Variant*> variants_;
  mutable std::mutex chosen_mutex_;
  mutable std::atomic<bool> is_settled_{false};
  mutable Chosen chosen_;  ///< written once, before is_settled_
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<CpuBackend>(); }

CpuInfo info() { return {processor_model(), chosen_instruction_set(), supported_instruction_sets(), thread_count()}; }

}  // namespace mpmml::cpu
