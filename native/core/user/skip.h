// Conditions under which a step of a product changes nothing.
//
// Many semirings keep the best candidate: most steps improve nothing, and ⊕ then returns x unchanged. If ⊕ expresses
// this by a select of x in every lane, a kernel tests that condition first and skips the rest of the step.
#pragma once
#include <optional>

#include "core/user/semiring.h"

namespace mpmml {

/// Returns the skip condition; nothing if none is found or it would save little.
std::optional<SkipCondition> skip_condition(const UserSemiring& semiring);

}  // namespace mpmml
