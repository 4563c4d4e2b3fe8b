// Interface of the closure family for the session: kernels that eliminate pivots (Session::eliminate), as function
// pointers. The generator writes them for each row of variants/closures.mjs.
#pragma once
#include <cuda_runtime_api.h>

#include <vector>

#include "core/session/session.h"
#include "cuda/kernels/closure_problem.h"

namespace mpmml::cuda {

/// One launch.
struct ClosureLaunch : ClosureProblem {
  cudaStream_t stream;
};

/// Number of counters for ClosureProblem::arrivals. Larger batches are divided.
constexpr int64_t kArrivals = 512;

struct ClosureKernel {
  SemiringId semiring;
  DataType dtype;
  int pivots;  ///< maximum number of pivots
  int others;  ///< other nodes per thread block; 0: other nodes aren't supported
  void (*launch)(const ClosureLaunch&);
};

/// Returns all closure kernels, in the table's order.
const std::vector<ClosureKernel>& closure_kernels();

/// Returns the maximum number of pivots that a kernel can eliminate if other nodes exist.
int64_t max_pivots(const Operation& operation);

/// Returns the first kernel in the table that can eliminate the pivots.
const ClosureKernel& closure_kernel(const Pivots& pivots);

}  // namespace mpmml::cuda
