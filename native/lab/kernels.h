// Kernels of the laboratory.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/problem/problem.h"

namespace mpmml::cuda {

struct RandomValues {
  int32_t minimum, maximum;
  double zero_fraction;
  uint64_t seed;
};

/// Queues the filling of `count` elements. Floating-point elements get whole numbers too.
void fill_random(const Operation& operation, void* data, int64_t count, const RandomValues& values,
                 cudaStream_t stream);

/// Queues a kernel that does nothing for 40 µs, in which the host can queue what comes next.
void prime_stream(cudaStream_t stream);

/// Queues a kernel that reads from where no memory is.
void read_from_nowhere(void* target, cudaStream_t stream);

/// Queues a kernel that spins for a fifth of a millisecond and writes the clocks and the nanoseconds that it took.
void probe_clock(uint64_t* ticks, cudaStream_t stream);

}  // namespace mpmml::cuda
