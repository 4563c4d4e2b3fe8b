// L2 bandwidth: repeatedly reads a buffer that fits the L2 cache, bypassing the L1 caches. The buffer is a quarter of
// the cache, because some GPUs store every line in both halves of their L2.
#pragma once
#include "lab/microbench/traffic.cuh"

namespace mpmml::microbench {

__global__ void __launch_bounds__(kBandwidthThreads) l2_read_kernel(BandwidthArguments p) {
  const auto* source = static_cast<const uint4*>(p.source);
  const auto chunks = static_cast<unsigned>(p.buffer_bytes / kChunkBytes);
  uint32_t sum = 0;
  for (int round = 0; round < p.rounds; ++round) {
    const uint4* chunk = source + (blockIdx.x + round) % chunks * kChunk + threadIdx.x;
#pragma unroll
    for (int index = 0; index < kInFlight; ++index) mix(sum, __ldcg(chunk + index * kBandwidthThreads));
  }
  keep(sum, p);
}

struct ReadL2 {
  static Bandwidth row(const char* name, const char* summary) {
    return {name,
            summary,
            reinterpret_cast<const void*>(&l2_read_kernel),
            Buffer::kPartOfL2,
            false,
            2000,
            [](const BandwidthArguments& p, int64_t threads) {
              return p.rounds * kInFlight * threads * int64_t{sizeof(uint4)};
            }};
  }
};

}  // namespace mpmml::microbench
