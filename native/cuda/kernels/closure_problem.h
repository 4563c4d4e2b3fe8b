// What the closure family's kernels get.
#pragma once
#include <cstdint>

#include "core/problem/layout.h"

namespace mpmml::cuda {

/// Pivots in device memory.
struct ClosureProblem {
  int64_t batch;
  int count;
  MutableMatrixView down, along;
  int first_row, first_col;
  MutableMatrixView next_down, next_along;        ///< data is null if they aren't asked for
  MutableMatrixView columns, rows, next_columns;  ///< null if all nodes are pivots, unless they are asked for
  int first_node;                                 ///< what `gain` calls the first pivot
  int32_t* gain;
  int64_t gain_stride;
  /// A counter for each matrix: 0, which is also what the kernel leaves there.
  unsigned* arrivals;
};

}  // namespace mpmml::cuda
