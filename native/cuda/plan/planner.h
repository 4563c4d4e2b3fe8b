// Who chooses how a product is computed.
#pragma once
#include <functional>

#include "core/backend.h"

namespace mpmml::cuda {

/// Makes the plan of a product whose operands have these ranges. Throws Error(kVariant).
using Planner =
    std::function<Plan(const Problem& problem, const ValueRange& a, const ValueRange& b, const Placement& where)>;

}  // namespace mpmml::cuda
