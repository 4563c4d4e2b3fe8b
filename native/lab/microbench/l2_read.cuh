// L2 cache: a buffer that is a part of it is read again and again, past the L1 caches. It is a quarter, because some
// GPUs keep every line in both halves of their L2.
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
