// Shared by the bandwidth kernels: several 16-byte vector loads in flight per thread, and a result that depends on
// every vector, so that the compiler can't eliminate loads.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>

#include "lab/microbench/bandwidth.h"

namespace mpmml::microbench {

/// Vectors that a thread has in flight at a time.
constexpr int kInFlight = 4;
/// Vectors, and bytes, that a block reads at a time.
constexpr int64_t kChunk = int64_t{kInFlight} * kBandwidthThreads;
constexpr int64_t kChunkBytes = kChunk * int64_t{sizeof(uint4)};

__device__ __forceinline__ void mix(uint32_t& sum, const uint4& vector) {
  sum ^= vector.x ^ vector.y;
  sum ^= vector.z ^ vector.w;
}

__device__ __forceinline__ void keep(uint32_t sum, const BandwidthArguments& p) {
  p.results[int64_t{blockIdx.x} * kBandwidthThreads + threadIdx.x] = sum;
}

}  // namespace mpmml::microbench
