// Sampling of a product to decide whether the ranked family (kernels/ranked.cuh) computes it in less time. Ranges of
// values don't decide that.
#pragma once
#include <cuda_runtime_api.h>

#include "core/session/backend.h"

namespace mpmml::cuda {

/// Returns the ranked family's plan for the product, if its size, its operation and the arithmetic of the best other
/// plan make a sample worthwhile; otherwise nothing.
std::optional<Plan> ranked_plan(const Problem& problem, const Plan& plan, ArithmeticSet exact, const Placement& where);

/// Returns whether the ranked family is faster than a dense kernel, because few pairs of elements of a ⊗ b are near the
/// best. `dense_steps` is the dense kernel's cost per result, in steps of the pipelined kernels. Computes a sample of
/// the product on `device` in `stream`, and waits for it. The operation must be an integer sum.
bool has_few_pairs(const Operation& operation, const MatrixView& a, const MatrixView& b, double dense_steps, int device,
                   cudaStream_t stream);

/// Like has_few_pairs(), with the cost of the kernel of `plan`.
bool sample_favours_ranked(const Problem& problem, const Plan& plan, const MatrixView& a, const MatrixView& b,
                           int device, cudaStream_t stream);

}  // namespace mpmml::cuda
