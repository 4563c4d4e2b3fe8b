// When a step of a product changes nothing.
//
// Many semirings keep the best of what they have seen: most steps bring nothing that is better, and ⊕ then gives x as it is. If ⊕ says so
// itself, by a select of x in every lane, a kernel can look at that condition first and leave out everything else of ⊗ and ⊕.
#pragma once
#include <optional>

#include "core/user/semiring.h"

namespace mpmml {

/// A condition that implies z ⊕ (x ⊗ y) = z, or nothing if none is seen or if it would save little. It is lowered, its one result
/// is a predicate, and its arguments are of z (side 0), x (side 1) and y (side 2).
std::optional<UserExpression> skip_condition(const UserSemiring& semiring);

}  // namespace mpmml
