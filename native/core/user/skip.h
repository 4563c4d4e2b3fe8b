// When a step of a product changes nothing.
//
// Many semirings keep the best of what they have seen: most steps bring nothing that is better, and ⊕ then gives x as it is. If ⊕ says so
// itself, by a select of x in every lane, a kernel can look at that condition first and leave out everything else of ⊗ and ⊕.
#pragma once
#include <optional>

#include "core/user/semiring.h"

namespace mpmml {

/// Nothing, if no condition is seen or if it would save little.
std::optional<SkipCondition> skip_condition(const UserSemiring& semiring);

}  // namespace mpmml
