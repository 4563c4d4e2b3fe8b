// What the closure family gives the session: kernels that pass pivots (Session::pass), as function pointers, which the
// generator writes for each row of variants/closures.mjs.
#pragma once
#include <cuda_runtime_api.h>

#include <vector>

#include "core/session.h"

namespace mpmml::cuda {

/// Pivots in device memory.
struct ClosureLaunch {
  int64_t batch;
  int count;
  MutableMatrixView down, along;
  int first_row, first_col;
  MutableMatrixView next_down, next_along;        ///< data is null if nobody asks
  MutableMatrixView columns, rows, next_columns;  ///< columns.data is null if all nodes are pivots and nobody asks
  int first_node;                                 ///< what `gain` calls the first pivot
  int32_t* gain;
  int64_t gain_stride;
  /// A counter for each matrix: 0, which is also what the kernel leaves there.
  unsigned* arrivals;
  cudaStream_t stream;
};

/// How many counters there are for ClosureLaunch::arrivals. Larger batches are divided.
constexpr int64_t kArrivals = 512;

struct ClosureKernel {
  SemiringId semiring;
  DataType dtype;
  int pivots;  ///< the most
  int others;  ///< other nodes that a block of threads improves; if 0, there mustn't be any
  void (*launch)(const ClosureLaunch&);
};

/// All that there are, in the table's order.
const std::vector<ClosureKernel>& closure_kernels();

/// The most pivots that kernels can pass if there are other nodes.
int64_t most_pivots(const Operation& operation);

/// The first kernel in the table that can pass these pivots.
const ClosureKernel& closure_kernel(const Pivots& pivots);

}  // namespace mpmml::cuda
