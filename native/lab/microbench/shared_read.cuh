// Shared memory bandwidth: neighbouring threads read neighbouring vectors, without bank conflicts or broadcasts.
#pragma once
#include "lab/microbench/traffic.cuh"

namespace mpmml::microbench {

__global__ void __launch_bounds__(kBandwidthThreads) shared_read_kernel(BandwidthArguments p) {
  __shared__ uint4 words[kChunk];
  for (unsigned index = threadIdx.x; index < kChunk; index += kBandwidthThreads) {
    words[index] = make_uint4(index, threadIdx.x, index * 3, index * 5);
  }
  __syncthreads();
  uint32_t sum = 0;
  unsigned at = threadIdx.x;
#pragma unroll 8
  for (int round = 0; round < p.rounds; ++round) {
    // The stride is unknown to the compiler, so it can't predict the words that are read.
    at = (at + p.stride) % unsigned{kChunk};
    mix(sum, words[at]);
  }
  keep(sum, p);
}

struct ReadShared {
  static Bandwidth row(const char* name, const char* summary) {
    return {name,
            summary,
            reinterpret_cast<const void*>(&shared_read_kernel),
            Buffer::kNone,
            false,
            20000,
            [](const BandwidthArguments& p, int64_t threads) { return p.rounds * threads * int64_t{sizeof(uint4)}; }};
  }
};

}  // namespace mpmml::microbench
