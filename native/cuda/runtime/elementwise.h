// Work on the elements of matrices on the device, one by one: copies, fills, ⊕, and the widening of narrow ones. Views may
// have any strides.
#pragma once
#include <cuda_runtime_api.h>

#include "core/session/session.h"

namespace mpmml::cuda {

/// Queues to = from, for elements that are stored in the same way.
void copy_matrices(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
                   cudaStream_t stream);

/// Queues to = value, which the type can represent.
void fill_matrices(DataType dtype, int64_t batch, const MutableMatrixView& to, double value, cudaStream_t stream);

/// Queues next[i, j] = j if d[i, j] isn't zero, and −1 if it is. `next` is int32.
void set_successors(const Operation& operation, int64_t batch, const MatrixView& d, const MutableMatrixView& next,
                    cudaStream_t stream);

/// Queues what Session::mark_tight_edges() says.
void mark_tight_edges(const NextNodes& successors, cudaStream_t stream);

/// Queues the search for the first element that is NaN, of float or double. Lowers *index, in device memory, to its index
/// (item, row, column in row-major order).
void find_nan(DataType dtype, int64_t batch, const MatrixView& matrix, unsigned long long* index, cudaStream_t stream);

/// Queues c = c ⊕ d, as products do with C0. d may be stored narrow.
void combine_matrices(const Operation& operation, int64_t batch, const MutableMatrixView& c, const MatrixView& d,
                      cudaStream_t stream);

/// Queues c = c ⊕ zero: what products of no steps make of C0.
void settle_matrices(const Operation& operation, int64_t batch, const MutableMatrixView& c, cudaStream_t stream);

/// Queues the widening of elements that are stored narrow. `to` is read as the place to write to.
void widen(const Operation& operation, int64_t batch, const MatrixView& from, const MatrixView& to,
           cudaStream_t stream);

}  // namespace mpmml::cuda
