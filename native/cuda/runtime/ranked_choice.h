// A sample of the product of two operands, which finds out whether the ranked family (kernels/ranked.cuh) computes their
// product in less time. Ranges of values don't tell that.
#pragma once
#include <cuda_runtime_api.h>

#include "core/session/backend.h"

namespace mpmml::cuda {

/// The ranked family's plan for the product, if its size, its operation and the best other plan's path make a look
/// worthwhile. Nothing otherwise.
std::optional<Plan> ranked_plan(const Problem& problem, const Plan& plan, PathSet exact, const Placement& where);

/// Whether the ranked family takes less time than `plan`. Computes a sample of the product of `a` and `b` on `device` in
/// `stream`, for which it waits.
bool sample_favours_ranked(const Problem& problem, const Plan& plan, const MatrixView& a, const MatrixView& b,
                           int device, cudaStream_t stream);

}  // namespace mpmml::cuda
