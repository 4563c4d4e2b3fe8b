// Operations on the elements inside or outside the band of device matrices. Views may have any strides.
#pragma once
#include <cuda_runtime_api.h>

#include "core/problem/problem.h"
#include "cuda/launch/kernel.h"
#include "cuda/runtime/range.h"

namespace mpmml::cuda {

/// Queues to = from for the elements inside the band. Both matrices have the same storage type. Elements outside are
/// neither read nor written.
void copy_inside(DataType dtype, int64_t batch, const MatrixView& from, const Band& band, const MutableMatrixView& to,
                 cudaStream_t stream);

/// A matrix of a batch without a common batch stride, as lines: rows or columns.
struct StridedLines {
  StridedLines(const MatrixView& view, bool by_columns)
      : data(const_cast<void*>(view.data)),
        line_stride(by_columns ? view.col_stride : view.row_stride),
        element_stride(by_columns ? view.row_stride : view.col_stride) {}

  void* data;
  int64_t line_stride, element_stride;
};

enum class Move : bool { kGather, kScatter };

/// Queues a gather of the elements inside the band from `places`, an array in device memory, to a batch, or a scatter
/// back. Lines are the lines of `gathered`, which is the destination of a gather.
void move_inside(Move move, DataType dtype, int64_t batch, const MatrixView& gathered, const Band& band,
                 const StridedLines* places, cudaStream_t stream);

/// Queues an assignment of the semiring's zero to the elements outside the band of `view`.
void clear_outside(const Operation& operation, int64_t batch, const MatrixView& view, const Band& band,
                   cudaStream_t stream);

/// Queues a scan like find_facts() of the elements inside the band.
void find_facts_inside(DataType dtype, int64_t batch, const MatrixView& view, const Band& band, ScanResult* result,
                       cudaStream_t stream);

/// Queues a repair of results that are NaN, after a product of banded operands. Kernels read elements outside the band
/// as zero, and in plus-times, zero times an infinity or NaN is NaN, although such a step must not count. NaN results
/// are recomputed from the steps inside the band. C0 must not be C. Does nothing for other semirings.
void repair_nan(const Operation& operation, const Launch& launch);

}  // namespace mpmml::cuda
