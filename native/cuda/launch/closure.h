// What the closure family gives the session: kernels that eliminate pivots (Session::eliminate), as function pointers, which the
// generator writes for each row of variants/closures.mjs.
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

/// How many counters there are for ClosureProblem::arrivals. Larger batches are divided.
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

/// The most pivots that kernels can eliminate if there are other nodes.
int64_t max_pivots(const Operation& operation);

/// The first kernel in the table that can eliminate these pivots.
const ClosureKernel& closure_kernel(const Pivots& pivots);

}  // namespace mpmml::cuda
