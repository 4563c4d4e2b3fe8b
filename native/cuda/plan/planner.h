// Who chooses how a product is computed, and says what that takes.
#pragma once
#include <functional>

#include "core/session/backend.h"

namespace mpmml::cuda {

/// Makes the plan of a product whose operands have these ranges. Throws Error(kVariant).
using Planner =
    std::function<Plan(const Problem& problem, const ValueRange& a, const ValueRange& b, const Placement& where)>;

/// The most bytes of device memory that a block of a product of host matrices needs, whatever its values.
using BytesOf = std::function<int64_t(const Problem& block, const Problem& whole, const Placement& where)>;

}  // namespace mpmml::cuda
