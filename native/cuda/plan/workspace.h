// How much device memory a product needs: worked out from what the kernels themselves say that they pack, before
// anything is allocated.
#pragma once
#include <functional>

#include "core/plan.h"
#include "core/problem.h"

namespace mpmml::cuda {

/// Calls back with each plan that values could lead to.
using ForPlans = std::function<void(const std::function<void(const Plan&)>& body)>;

/// The most bytes of device memory that the product can need, whatever its values: operands as they are, as int32 and packed
/// for each plan that some part may take, and the result.
int64_t workspace_bytes(const Problem& problem, const ForPlans& for_plans);

/// At least as many, from the sizes only.
int64_t roughly_needed_bytes(const Problem& problem);

}  // namespace mpmml::cuda
