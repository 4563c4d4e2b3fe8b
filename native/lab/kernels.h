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

/// Queues a fill of `count` elements with random values. Floating-point elements are whole numbers, too.
void fill_random(const Operation& operation, void* data, int64_t count, const RandomValues& values,
                 cudaStream_t stream);

/// Queues a kernel that spins for 40 µs, so that the host can queue the next work meanwhile.
void prime_stream(cudaStream_t stream);

/// Queues a kernel that reads an invalid address.
void read_from_nowhere(void* target, cudaStream_t stream);

/// Queues a kernel that spins for a fifth of a millisecond and writes the elapsed clocks and nanoseconds.
void probe_clock(uint64_t* ticks, cudaStream_t stream);

}  // namespace mpmml::cuda
