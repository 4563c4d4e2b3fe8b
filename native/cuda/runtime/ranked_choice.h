// A sample of the product of two operands, which finds out whether the ranked family (kernels/ranked.cuh) computes their
// product in less time. Ranges of values don't tell that.
#pragma once
#include <cuda_runtime_api.h>

#include "core/session/backend.h"

namespace mpmml::cuda {

/// The ranked family's plan for the product, if its size, its operation and the best other plan's path make a look
/// worthwhile. Nothing otherwise.
std::optional<Plan> ranked_plan(const Problem& problem, const Plan& plan, ArithmeticSet exact, const Placement& where);

/// Returns whether so few pairs of elements of a ⊗ b are near the best that the ranked family takes less time than a kernel that takes
/// `dense_steps` steps, in units of the word kernels' time, for each result. Computes a sample of the product on `device` in `stream`, for
/// which it waits. The operation is an integer sum.
bool has_few_pairs(const Operation& operation, const MatrixView& a, const MatrixView& b, double dense_steps, int device,
                   cudaStream_t stream);

/// Like has_few_pairs(), for a product whose other kernel is that of `plan`.
bool sample_favours_ranked(const Problem& problem, const Plan& plan, const MatrixView& a, const MatrixView& b,
                           int device, cudaStream_t stream);

}  // namespace mpmml::cuda
