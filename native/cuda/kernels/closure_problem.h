// Arguments of the kernels of the closure family.
#pragma once
#include <cstdint>

#include "core/problem/layout.h"

namespace mpmml::cuda {

/// Matrices of pivots in device memory.
struct ClosureProblem {
  int64_t batch;
  int count;
  MutableMatrixView down, along;
  int first_row, first_col;
  MutableMatrixView next_down, next_along;        ///< data is null if not requested
  MutableMatrixView columns, rows, next_columns;  ///< null if all nodes are pivots and they aren't requested
  int first_node;                                 ///< node index of the first pivot, as reported in `gain`
  int32_t* gain;
  int64_t gain_stride;
  /// Arrival counter of each matrix. It is 0 before the launch, and the kernel resets it to 0.
  unsigned* arrivals;
};

}  // namespace mpmml::cuda
