#include "cpu/compute.h"

#include <new>
#include <optional>

#include "core/algebra/dispatch.h"
#include "core/host/clock.h"
#include "core/host/host_memory.h"
#include "core/problem/destination.h"
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

/// C takes memory only now if it was made for this product.
void claim_result(const Problem& problem) {
  const MutableMatrixView& c = problem.c;
  if (c.memory || !c.data || problem.outputs() == 0) return;
  const int64_t last = (problem.batch - 1) * c.batch_stride + (c.rows - 1) * c.row_stride + (c.cols - 1) * c.col_stride;
  claim_memory(c.data, static_cast<size_t>((last + 1) * element_bytes(problem.operation.dtype)), "the result");
}

/// What is known of the operands, or else what `scan` finds.
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

Destination destination_of(const Problem& problem, const Plan& plan) {
  return Destination(problem, may_overflow(problem, plan.path));
}

/// Throws Error if a result has overflowed; else copies the results to C if they aren't there.
void settle(const Problem& problem, const Destination& destination, int64_t overflow) {
  if (problem.operation.overflow == OverflowPolicy::kThrow && overflow != kNoOverflow) {
    throw overflow_error(problem, overflow);
  }
  // Copying a result takes as long as this many k-steps.
  constexpr int64_t kStepsPerCopy = 8, kStepsAtOnce = 1 << 20;
  destination.commit([&](int64_t rows, const Destination::CopyRows& copy) {
    for_each_run(problem, rows, saturating_product(problem.outputs(), kStepsPerCopy), kStepsAtOnce, copy);
  });
}

class Product {
 public:
  Product(const Problem& problem, const Variant* requested, const Planner& planner)
      : problem_(problem), requested_(requested), planner_(planner) {}

  Outcome compute() const {
    if (requested_) {
      check_requested(problem_.operation, *requested_);
      const std::string refused = planner_.refusal(problem_, *requested_);
      if (!refused.empty()) {
        throw Error(ErrorCode::kVariant,
                    "variant " + std::string(requested_->name) + " can't run this product: " + refused);
      }
      if (planner_.kernel_of(*requested_).rows.multiply) return multiply_where_they_are(*requested_);
    }
    const Variant* likely = planner_.likely_variant(problem_, requested_);
    if (planner_.kernel_of(*likely).thin.accumulate) return multiply_thin(*likely);
    if (problem_.witness.data && planner_.kernel_of(*likely).first_true.multiply) return find_first_true(*likely);
    std::optional<PackedProduct> product;
    const Ranges ranges = ranges_of(problem_, [&] {
      const PackedKernel& kernel = planner_.kernel_of(*likely).packed;
      if (planner_.is_unlikely(*likely, problem_, requested_)) return scan(problem_);
      return product.emplace(problem_, kernel).ranges();
    });
    Outcome outcome;
    outcome.plan = planner_.plan(problem_, ranges, requested_, likely);
    const Destination destination = destination_of(problem_, outcome.plan);
    if (!product || outcome.plan.variant != likely) {
      product.emplace(problem_, planner_.kernel_of(*outcome.plan.variant).packed, ranges, outcome.plan.path);
    }
    settle(problem_, destination, product->multiply(outcome.plan.path, destination.view()));
    outcome.timing.kernel = milliseconds_since(start_);
    return outcome;
  }

 private:
  Outcome multiply_thin(const Variant& likely) const {
    std::optional<ThinProduct> product;
    const RangePath any = !can_overflow(problem_.operation)                      ? RangePath::kDirect
                          : problem_.operation.overflow == OverflowPolicy::kWrap ? RangePath::kWrapping
                                                                                 : RangePath::kWide;
    const Ranges ranges =
        ranges_of(problem_, [&] { return product.emplace(problem_, planner_.kernel_of(likely)).accumulate(any); });
    Outcome outcome;
    outcome.plan = planner_.plan(problem_, ranges, requested_, &likely);
    if (!product || outcome.plan.variant != &likely) {
      if (product) product->retract_steps();
      product.emplace(problem_, planner_.kernel_of(*outcome.plan.variant)).accumulate(outcome.plan.path);
    }
    const Destination destination = destination_of(problem_, outcome.plan);
    settle(problem_, destination, product->finish(outcome.plan.path, destination.view()));
    outcome.timing.kernel = milliseconds_since(start_);
    return outcome;
  }

  /// Truth values can't overflow, so nothing is to be known of them.
  Outcome find_first_true(const Variant& variant) const {
    Outcome outcome;
    outcome.plan = planner_.plan(problem_, {}, &variant, &variant);
    const Destination destination = destination_of(problem_, outcome.plan);
    multiply_first_true(problem_, planner_.kernel_of(variant).first_true, destination.view());
    settle(problem_, destination, kNoOverflow);
    outcome.timing.kernel = milliseconds_since(start_);
    return outcome;
  }

  Outcome multiply_where_they_are(const Variant& variant) const {
    const Ranges ranges = ranges_of(problem_, [&] { return scan(problem_); });
    Outcome outcome;
    outcome.timing.analysis = milliseconds_since(start_);
    outcome.plan = planner_.plan(problem_, ranges, &variant, &variant);
    const Destination destination = destination_of(problem_, outcome.plan);
    const RowsKernel& kernel = planner_.kernel_of(variant).rows;
    settle(problem_, destination, multiply_rows(problem_, kernel, outcome.plan.path, destination.view()));
    outcome.timing.kernel = milliseconds_since(start_) - outcome.timing.analysis;
    return outcome;
  }

  const Problem& problem_;
  const Variant* const requested_;
  const Planner& planner_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

Outcome compute(const Problem& problem, const Variant* requested, const Planner& planner) {
  planner.require_settings();
  claim_result(problem);
  try {
    return Product(problem, requested, planner).compute();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kOutOfMemory, "the cpu backend found no memory for a product of " +
                                             std::to_string(problem.batch) + " × [" + std::to_string(problem.m()) +
                                             ", " + std::to_string(problem.k()) + "] by [" +
                                             std::to_string(problem.k()) + ", " + std::to_string(problem.n()) + "]");
  }
}

}  // namespace mpmml::cpu
