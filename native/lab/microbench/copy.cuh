// Device memory bandwidth: copies a buffer much larger than the L2 cache.
#pragma once
#include "lab/microbench/traffic.cuh"

namespace mpmml::microbench {

__global__ void __launch_bounds__(kBandwidthThreads) copy_kernel(BandwidthArguments p) {
  const auto* source = static_cast<const uint4*>(p.source);
  auto* target = static_cast<uint4*>(p.target);
  const int64_t chunks = p.buffer_bytes / kChunkBytes;
  for (int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const int64_t first = chunk * kChunk + threadIdx.x;
    uint4 vectors[kInFlight];
#pragma unroll
    for (int index = 0; index < kInFlight; ++index) vectors[index] = source[first + index * kBandwidthThreads];
#pragma unroll
    for (int index = 0; index < kInFlight; ++index) target[first + index * kBandwidthThreads] = vectors[index];
  }
}

struct CopyBuffer {
  static Bandwidth row(const char* name, const char* summary) {
    return {name,
            summary,
            reinterpret_cast<const void*>(&copy_kernel),
            Buffer::kBeyondL2,
            true,
            1,
            [](const BandwidthArguments& p, int64_t) { return 2 * (p.buffer_bytes / kChunkBytes) * kChunkBytes; }};
  }
};

}  // namespace mpmml::microbench
