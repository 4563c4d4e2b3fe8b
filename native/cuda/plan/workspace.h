// How much device memory a product needs. It is computed before anything is allocated, from what the kernels report
// that they pack.
#pragma once
#include <functional>

#include "core/plan.h"
#include "core/problem.h"
#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

/// Calls `body` with each plan that some values could lead to, and the kernel that it takes.
using ForPlans = std::function<void(const std::function<void(const Plan&, const Kernel&)>& body)>;

/// The most bytes of device memory that the product can need, whatever its values: the operands as they are, as int32,
/// and packed for each plan that some part may take; the result, and its witnesses.
int64_t workspace_bytes(const Problem& problem, const ForPlans& for_plans);

/// At least as many bytes, computed from the sizes only.
int64_t roughly_needed_bytes(const Problem& problem);

}  // namespace mpmml::cuda
