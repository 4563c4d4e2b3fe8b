#include "core/plan/plan.h"

#include <optional>

#include "core/status.h"

namespace mpmml {
namespace {

bool computes(const Variant& variant, const Operation& operation) {
  return variant.semiring == operation.semiring && variant.dtype == operation.dtype;
}

/// Returns the cheapest arithmetic that is in both sets.
std::optional<ArithmeticKind> common_path(const Variant& variant, ArithmeticSet exact) {
  for (int index = 0; index < kRangePaths; ++index) {
    const auto path = static_cast<ArithmeticKind>(index);
    if (exact.has(path) && variant.paths.has(path)) return path;
  }
  return std::nullopt;
}

}  // namespace

void check_requested(const Operation& operation, const Variant& variant) {
  if (computes(variant, operation)) return;
  const auto name = [](SemiringId semiring, DataType dtype) {
    return std::string(semiring_name(semiring)) + " on " + data_type_name(dtype);
  };
  throw Error(ErrorCode::kVariant, "variant " + std::string(variant.name) + " computes " +
                                       name(variant.semiring, variant.dtype) + ", but the product asked for is " +
                                       name(operation.semiring, operation.dtype) + ": choose a variant of " +
                                       (variant.semiring == operation.semiring ? "that type" : "that semiring"));
}

std::optional<Plan> find_plan(const Operation& operation, ArithmeticSet exact,
                              const std::vector<const Variant*>& variants, const Variant* requested,
                              CostEstimator judge) {
  std::optional<Plan> plan;
  double least = 0;
  const auto consider = [&](const Variant& variant) {
    if (!computes(variant, operation)) return;
    const std::optional<ArithmeticKind> path = common_path(variant, exact);
    if (!path) return;
    const VariantCost judgement = judge(variant, *path);
    if (!judgement.refusal.empty() || (plan && judgement.cost >= least)) return;
    plan = {&variant, *path};
    least = judgement.cost;
  };
  if (requested) {
    consider(*requested);
    return plan;
  }
  for (const Variant* variant : variants) {
    if (variant->automatic) consider(*variant);
  }
  return plan;
}

Plan make_plan(const Operation& operation, ArithmeticSet exact, const std::vector<const Variant*>& variants,
               const Variant* requested, CostEstimator judge) {
  if (requested) check_requested(operation, *requested);
  if (const std::optional<Plan> plan = find_plan(operation, exact, variants, requested, judge)) return *plan;
  if (!requested) {
    throw Error(ErrorCode::kVariant,
                "no variant of this build runs a " + std::string(semiring_name(operation.semiring)) + " " +
                    data_type_name(operation.dtype) + " product of such values on this device: see variants()");
  }
  const std::optional<ArithmeticKind> path = common_path(*requested, exact);
  throw Error(ErrorCode::kVariant,
              "variant " + std::string(requested->name) + " can't run this product: " +
                  (path ? judge(*requested, *path).refusal
                        : "sums of these values don't fit its accumulator; leave `variant` out, or choose one with a "
                          "wider one"));
}

Plan plan_without_steps(const Operation& operation, const std::vector<const Variant*>& variants,
                        const Variant* requested) {
  ArithmeticSet every;
  for (int index = 0; index < kRangePaths; ++index) every.add(static_cast<ArithmeticKind>(index));
  return make_plan(operation, every, variants, requested, [](const Variant&, ArithmeticKind) { return VariantCost{}; });
}

}  // namespace mpmml
