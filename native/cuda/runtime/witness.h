// Queues the search for witnesses after a product (kernels/witness.cuh).
#pragma once
#include <cuda_runtime_api.h>

#include "core/problem/problem.h"
#include "cuda/kernels/witness_search.h"
#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

/// Bytes for a copy of an operand whose lines along K are contiguous: the rows of A, or the columns of B. 0 if they are
/// already, and stored as elements.
int64_t bytes_along_k(const Operation& operation, int64_t batch, const MatrixView& view, Side side);

/// Such a copy in `memory`, of bytes_along_k(); `view` itself if that is 0.
MatrixView copy_along_k(const Operation& operation, int64_t batch, const MatrixView& view, Side side, void* memory,
                        cudaStream_t stream);

/// Replaces the hints of a kernel that notes chunks by witnesses. The lines of A and B along K must be contiguous.
void find_hinted(const Operation& operation, const WitnessSearch& search, cudaStream_t stream);

/// Finds the witnesses of any product, which takes about as long as the simplest kernel for it.
void find_all(const Operation& operation, const WitnessSearch& search, cudaStream_t stream);

}  // namespace mpmml::cuda
