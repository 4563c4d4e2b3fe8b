#include "cpu/compute.h"

#include <new>
#include <optional>

#include "core/algebra/dispatch.h"
#include "core/host/clock.h"
#include "core/host/host_memory.h"
#include "core/problem/destination.h"
#include "core/problem/definition.h"
#include "core/problem/overflow.h"
#include "core/problem/scan.h"
#include "core/problem/structured.h"
#include "core/status.h"
#include "cpu/first_true_product.h"
#include "cpu/loop.h"
#include "cpu/product.h"
#include "cpu/thin_product.h"

namespace mpmml::cpu {
namespace {

/// Allocates the memory of C if C was created for this product.
void claim_result(const Problem& problem) {
  const MutableMatrixView& c = problem.c;
  if (c.memory || !c.data || problem.outputs() == 0) return;
  const int64_t last = (problem.batch - 1) * c.batch_stride + (c.rows - 1) * c.row_stride + (c.cols - 1) * c.col_stride;
  claim_memory(c.data, static_cast<size_t>((last + 1) * element_bytes(problem.operation.dtype)), "the result");
}

/// Returns the known ranges of the operands, or the result of `scan` if there are none.
template <class Scan>
Ranges ranges_of(const Problem& problem, Scan scan) {
  if (problem.known) {
    const ValueRange& known = problem.known_operands ? *problem.known_operands : *problem.known;
    return {known, known};
  }
  const Ranges ranges = scan();
  require_elements(problem, ranges.a, ranges.b);
  return ranges;
}

class ProductRun {
 public:
  ProductRun(const Problem& problem, const Variant* requested, const Planner& planner)
      : problem_(problem), requested_(requested), planner_(planner) {}

  Outcome run() const {
    if (requested_) {
      const std::string refused = planner_.refusal(problem_, *requested_);
      if (!refused.empty()) {
        throw Error(ErrorCode::kVariant,
                    "variant " + std::string(requested_->name) + " can't run this product: " + refused);
      }
      if (planner_.kernel_of(*requested_).rows.multiply) return multiply_in_place();
    }
    const Variant& likely = *planner_.likely_variant(problem_, requested_);
    const Kernel& kernel = planner_.kernel_of(likely);
    if (kernel.thin.accumulate) return multiply_thin(likely);
    if (problem_.witness.data && kernel.first_true.multiply) return find_first_true(likely);
    std::optional<PackedProduct> product;
    const Ranges ranges = ranges_of(problem_, [&] {
      if (planner_.is_unlikely(likely, problem_, requested_)) return scan(problem_);
      return product.emplace(problem_, kernel.packed).ranges();
    });
    const Plan plan = planner_.plan(problem_, ranges, requested_, &likely);
    return write(plan, [&](const MutableMatrixView& c) {
      if (!product || plan.variant != &likely) {
        product.emplace(problem_, planner_.kernel_of(*plan.variant).packed, ranges, plan.path);
      }
      return product->multiply(plan.path, c);
    });
  }

 private:
  /// Writes the results of `multiply(c)`, which returns the index of the first overflowed result. If overflow is an
  /// error, throws Error and leaves C unchanged.
  template <class Multiply>
  Outcome write(const Plan& plan, Multiply&& multiply, double analysis_ms = 0) const {
    const Destination destination(problem_, may_overflow(problem_, plan.path));
    const int64_t overflow = multiply(destination.view());
    if (problem_.operation.overflow == OverflowPolicy::kThrow && overflow != kNoOverflow) {
      throw overflow_error(problem_, overflow);
    }
    // Copying a result takes as long as this many k-steps.
    constexpr int64_t kStepsPerCopy = 8, kStepsAtOnce = 1 << 20;
    destination.commit([&](int64_t rows, const Destination::CopyRows& copy) {
      for_each_run(problem_, rows, saturating_product(problem_.outputs(), kStepsPerCopy), kStepsAtOnce, copy);
    });
    Outcome outcome;
    outcome.plan = plan;
    outcome.timing.analysis = analysis_ms;
    outcome.timing.kernel = milliseconds_since(start_) - analysis_ms;
    return outcome;
  }

  Outcome multiply_thin(const Variant& likely) const {
    std::optional<ThinProduct> product;
    const ArithmeticKind any = !can_overflow(problem_.operation)                      ? ArithmeticKind::kDirect
                               : problem_.operation.overflow == OverflowPolicy::kWrap ? ArithmeticKind::kWrapping
                                                                                      : ArithmeticKind::kWide;
    const Ranges ranges =
        ranges_of(problem_, [&] { return product.emplace(problem_, planner_.kernel_of(likely)).accumulate(any); });
    const Plan plan = planner_.plan(problem_, ranges, requested_, &likely);
    if (!product || plan.variant != &likely) {
      if (product) product->retract_steps();
      product.emplace(problem_, planner_.kernel_of(*plan.variant)).accumulate(plan.path);
    }
    return write(plan, [&](const MutableMatrixView& c) { return product->finish(plan.path, c); });
  }

  /// Truth values can't overflow, so their ranges aren't needed.
  Outcome find_first_true(const Variant& variant) const {
    return write(planner_.plan(problem_, {}, &variant, &variant), [&](const MutableMatrixView& c) {
      multiply_first_true(problem_, planner_.kernel_of(variant).first_true, c);
      return kNoOverflow;
    });
  }

  /// Computes with a requested kernel that packs no operand.
  Outcome multiply_in_place() const {
    const Ranges ranges = ranges_of(problem_, [&] { return scan(problem_); });
    const double analysis_ms = milliseconds_since(start_);
    const Plan plan = planner_.plan(problem_, ranges, requested_, requested_);
    const RowsKernel& kernel = planner_.kernel_of(*requested_).rows;
    return write(
        plan, [&](const MutableMatrixView& c) { return multiply_rows(problem_, kernel, plan.path, c); }, analysis_ms);
  }

  const Problem& problem_;
  const Variant* const requested_;
  const Planner& planner_;
  const Clock::time_point start_ = Clock::now();
};

/// Computes C = C0 ⊕ zero.
Outcome compute_without_steps(const Problem& problem, const Variant* requested, const Planner& planner) {
  Outcome outcome;
  outcome.plan = plan_without_steps(problem.operation, planner.variants(), requested);
  store_without_steps(problem);
  return outcome;
}

}  // namespace

Outcome compute(const Problem& problem, const Variant* requested, const Planner& planner) {
  if (!problem.has_steps()) return compute_without_steps(problem, requested, planner);
  if (!problem.known) require_elements_of_c0(problem);
  planner.require_settings();
  claim_result(problem);
  try {
    return ProductRun(problem, requested, planner).run();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kOutOfMemory, "the cpu backend found no memory for a product of " +
                                             std::to_string(problem.batch) + " × [" + std::to_string(problem.m()) +
                                             ", " + std::to_string(problem.k()) + "] by [" +
                                             std::to_string(problem.k()) + ", " + std::to_string(problem.n()) + "]");
  }
}

}  // namespace mpmml::cpu
