// Choice of a kernel variant, separate from its execution.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/function_ref.h"
#include "core/plan/variant.h"
#include "core/problem/problem.h"

namespace mpmml {

struct Plan {
  const Variant* variant;
  ArithmeticKind path;
};

/// Suitability of a variant for a product on a device: the reason why it can't run, apart from the limits in its
/// registry row (empty if it can), and its estimated duration in any unit.
struct VariantCost {
  std::string refusal;
  double cost;
};
using CostEstimator = FunctionRef<VariantCost(const Variant&, ArithmeticKind)>;

/// Like make_plan(), but returns nothing if no variant can run the product.
std::optional<Plan> find_plan(const Operation& operation, ArithmeticSet exact,
                              const std::vector<const Variant*>& variants, const Variant* requested,
                              CostEstimator judge);

/// Returns the automatic variant with the least cost (of equals the first in the table), with the cheapest of its
/// arithmetics in `exact`. If `requested` isn't null, returns exactly that variant, never a substitute. Throws
/// Error(kVariant) if no variant can run the product, or `requested` can't.
Plan make_plan(const Operation& operation, ArithmeticSet exact, const std::vector<const Variant*>& variants,
               const Variant* requested, CostEstimator judge);

/// Returns the plan of a product without steps or without results. Values don't matter, so any variant of the operation
/// can run it.
Plan plan_without_steps(const Operation& operation, const std::vector<const Variant*>& variants,
                        const Variant* requested);

/// Throws Error(kVariant) if `variant` is for another semiring or element type than the product. This can be checked
/// before any value has been read.
void check_requested(const Operation& operation, const Variant& variant);

}  // namespace mpmml
