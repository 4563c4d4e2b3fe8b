// Choosing a kernel variant, separate from running it.
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

/// What a backend says about a variant for a product on a device: why it can't run it, apart from what its row says
/// (empty if it can), and how long it would take, in any unit.
struct VariantCost {
  std::string refusal;
  double cost;
};
using CostEstimator = FunctionRef<VariantCost(const Variant&, ArithmeticKind)>;

/// The same as make_plan(), but returns nothing if there is no plan.
std::optional<Plan> find_plan(const Operation& operation, ArithmeticSet exact,
                              const std::vector<const Variant*>& variants, const Variant* requested,
                              CostEstimator judge);

/// The variant with the least cost among the automatic ones of `variants` (of equals the first in the table), each on
/// the cheapest of its `exact` paths. If `requested` isn't null, exactly that variant.
/// Throws Error(kVariant) if there is none, or if `requested` can't run this product. Never takes a substitute.
Plan make_plan(const Operation& operation, ArithmeticSet exact, const std::vector<const Variant*>& variants,
               const Variant* requested, CostEstimator judge);

/// The plan of a product without steps or without results. No value has to fit, so any variant of the operation takes it.
Plan plan_without_steps(const Operation& operation, const std::vector<const Variant*>& variants,
                        const Variant* requested);

/// Throws Error(kVariant) if `variant` is for another semiring or element type than the product. This can be checked
/// before any value has been read.
void check_requested(const Operation& operation, const Variant& variant);

}  // namespace mpmml
