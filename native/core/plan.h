// Choosing a kernel variant, apart from running it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/problem.h"
#include "core/variant.h"

namespace mpmml {

struct Plan {
  const Variant* variant;
  RangePath path;
};

/// Why a variant can't run the product on this device beyond what its row says; empty where it can.
using Refusal = std::function<std::string(const Variant&)>;

/// On the cheapest of the paths that are exact for the product, the first automatic variant of `variants` (the table's
/// order is the order of preference) that runs it; or exactly `requested` where it isn't null.
/// Throws Error(kVariant) where none does, or where `requested` can't run this product: never a substitute.
Plan make_plan(const Problem& problem, PathSet exact, const std::vector<const Variant*>& variants,
               const Variant* requested, const Refusal& refusal);

/// Throws Error(kVariant) where `variant` is of another semiring or element type than the product: what can be said
/// before any value has been seen.
void check_requested(const Problem& problem, const Variant& variant);

}  // namespace mpmml
