// Queues the search for witnesses after a product (kernels/witness.cuh).
#pragma once
#include <cuda_runtime_api.h>

#include "core/problem/problem.h"
#include "cuda/kernels/witness_search.h"
#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

/// Returns the bytes for a copy of an operand that is contiguous along K (rows of A, columns of B). Returns 0 if the
/// operand is already contiguous along K in the element type.
int64_t bytes_along_k(const Operation& operation, int64_t batch, const MatrixView& view, Side side);

/// Queues such a copy to `memory` of bytes_along_k() bytes, and returns it; returns `view` if the bytes are 0.
MatrixView copy_along_k(const Operation& operation, int64_t batch, const MatrixView& view, Side side, void* memory,
                        cudaStream_t stream);

/// Queues the replacement of hints by witnesses. A and B must be contiguous along K.
void find_hinted(const Operation& operation, const WitnessSearch& search, cudaStream_t stream);

/// Queues the search for the witnesses of any product, which takes about as long as the simplest kernel of the product.
void find_all(const Operation& operation, const WitnessSearch& search, cudaStream_t stream);

}  // namespace mpmml::cuda
