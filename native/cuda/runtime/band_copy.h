// Work on what is inside or outside the band of matrices on the device. Views may have any strides.
#pragma once
#include <cuda_runtime_api.h>

#include "core/problem/problem.h"
#include "cuda/launch/kernel.h"
#include "cuda/runtime/range.h"

namespace mpmml::cuda {

/// Queues to = from for the elements inside the band, which are stored in the same way. The others are neither read nor
/// written.
void copy_inside(DataType dtype, int64_t batch, const MatrixView& from, const Band& band, const MutableMatrixView& to,
                 cudaStream_t stream);

/// A matrix of a batch whose matrices aren't at equal distances, as lines: rows or columns.
struct Placed {
  Placed(const MatrixView& view, bool by_columns)
      : data(const_cast<void*>(view.data)),
        line_stride(by_columns ? view.col_stride : view.row_stride),
        element_stride(by_columns ? view.row_stride : view.col_stride) {}

  void* data;
  int64_t line_stride, element_stride;
};

enum class Move : bool { kGather, kScatter };

/// Queues that the elements inside the band go from `places`, which are in device memory, to a batch, or back. Lines are
/// those of `gathered`, which is read as the place to write to if they go there.
void move_inside(Move move, DataType dtype, int64_t batch, const MatrixView& gathered, const Band& band,
                 const Placed* places, cudaStream_t stream);

/// Queues that the elements outside the band become the semiring's zero. `view` is read as the place to write to.
void clear_outside(const Operation& operation, int64_t batch, const MatrixView& view, const Band& band,
                   cudaStream_t stream);

/// find_facts() of the elements inside the band.
void find_facts_inside(DataType dtype, int64_t batch, const MatrixView& view, const Band& band, ScanResult* result,
                       cudaStream_t stream);

/// To the kernels, what is outside is zero. In plus-times zero times an infinity or NaN is NaN, but such a step doesn't
/// count. Queues, after a product, that results that are NaN are computed again from the steps that do. C0 must not be C.
/// Other semirings need nothing.
void repair_nan(const Operation& operation, const Launch& launch);

}  // namespace mpmml::cuda
