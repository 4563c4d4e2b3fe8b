// Coalescing benchmark: neighbouring threads read 32-bit words with a stride, from a buffer much larger than the L2
// cache. Memory transfers whole sectors, but only the requested words count.
#pragma once
#include "lab/microbench/traffic.cuh"

namespace mpmml::microbench {

__global__ void __launch_bounds__(kBandwidthThreads) strided_kernel(BandwidthArguments p) {
  const auto* source = static_cast<const uint32_t*>(p.source);
  const int64_t count = p.buffer_bytes / int64_t{sizeof(uint32_t)} / p.stride;
  const int64_t threads = int64_t{gridDim.x} * kBandwidthThreads;
  uint32_t sum = 0;
#pragma unroll 8
  for (int64_t index = int64_t{blockIdx.x} * kBandwidthThreads + threadIdx.x; index < count; index += threads) {
    sum ^= source[index * p.stride];
  }
  keep(sum, p);
}

struct ReadStrided {
  static Bandwidth row(const char* name, const char* summary) {
    return {name,
            summary,
            reinterpret_cast<const void*>(&strided_kernel),
            Buffer::kBeyondL2,
            false,
            1,
            [](const BandwidthArguments& p, int64_t) {
              return p.buffer_bytes / int64_t{sizeof(uint32_t)} / p.stride * int64_t{sizeof(uint32_t)};
            }};
  }
};

}  // namespace mpmml::microbench
