// Elementwise operations on device matrices: copy, fill, ⊕, and conversion of narrow storage to elements. Views may
// have any strides.
#pragma once
#include <cuda_runtime_api.h>

#include "core/session/session.h"

namespace mpmml::cuda {

/// Queues to = from. Both matrices have the same storage type.
void copy_matrices(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
                   cudaStream_t stream);

/// Queues to = value. The type must be able to represent `value`.
void fill_matrices(DataType dtype, int64_t batch, const MutableMatrixView& to, double value, cudaStream_t stream);

/// Queues next[i, j] = j if d[i, j] isn't zero, and −1 if it is. `next` is int32.
void set_successors(const Operation& operation, int64_t batch, const MatrixView& d, const MutableMatrixView& next,
                    cudaStream_t stream);

/// Queues the work of Session::mark_tight_edges().
void mark_tight_edges(const NextNodes& successors, cudaStream_t stream);

/// Queues the search for the first NaN in matrices of float or double. Lowers *index, in device memory, to the NaN's
/// index (item, row, column in row-major order).
void find_nan(DataType dtype, int64_t batch, const MatrixView& matrix, unsigned long long* index, cudaStream_t stream);

/// Queues c = c ⊕ d with the rules of products for C0. `d` may have narrow storage.
void combine_matrices(const Operation& operation, int64_t batch, const MutableMatrixView& c, const MatrixView& d,
                      cudaStream_t stream);

/// Queues c = c ⊕ zero, the result of products with K = 0.
void settle_matrices(const Operation& operation, int64_t batch, const MutableMatrixView& c, cudaStream_t stream);

/// Queues the conversion of elements in narrow storage to the element type. `to` is the destination.
void widen(const Operation& operation, int64_t batch, const MatrixView& from, const MatrixView& to,
           cudaStream_t stream);

}  // namespace mpmml::cuda
