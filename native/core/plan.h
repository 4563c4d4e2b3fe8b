// Choosing a kernel variant, apart from running it.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.h"
#include "core/variant.h"

namespace mpmml {

struct Plan {
  const Variant* variant;
  RangePath path;
};

/// What a backend says of a variant for a product on a device: why it can't run it, beyond what its row says (empty
/// if it can), and how long it would take, in any unit.
struct Judgement {
  std::string refusal;
  double cost;
};
using Judge = std::function<Judgement(const Variant&, RangePath)>;

/// As make_plan(), or nothing if there is none.
std::optional<Plan> find_plan(const Operation& operation, PathSet exact, const std::vector<const Variant*>& variants,
                              const Variant* requested, const Judge& judge);

/// The variant of least cost among the automatic ones of `variants` (of equals the first in the table), each on the
/// cheapest of the paths that are `exact`; or exactly `requested` if it isn't null.
/// Throws Error(kVariant) if there is none, or if `requested` can't run this product: never a substitute.
Plan make_plan(const Operation& operation, PathSet exact, const std::vector<const Variant*>& variants,
               const Variant* requested, const Judge& judge);

/// Throws Error(kVariant) if `variant` is of another semiring or element type than the product: what can be said
/// before any value has been seen.
void check_requested(const Operation& operation, const Variant& variant);

}  // namespace mpmml
