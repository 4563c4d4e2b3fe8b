// What a kernel family gives the launcher: plain function pointers, written by the generator for each row of the
// variant table.
#pragma once
#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include "core/problem.h"
#include "core/variant.h"

namespace mpmml::cuda {

/// One launch. All pointers are device pointers.
struct Launch {
  int64_t batch, m, n, k;
  MatrixView a, b, c0;
  MutableMatrixView c;
  RangePath path;
  /// Smallest linear index of a result that overflowed, ~0 where none did; null where nobody asks.
  unsigned long long* overflow;
  cudaStream_t stream;
};

struct Kernel {
  unsigned paths;
  void (*launch)(const Launch&);
  /// The __global__ function that runs `path`, for the runtime's queries.
  const void* (*function)(RangePath path);
};

struct KernelVariant {
  Variant variant;
  const Kernel* kernel;
};

/// The registry rows of the CUDA backend, in the table's order.
const std::vector<KernelVariant>& kernel_variants();

}  // namespace mpmml::cuda
