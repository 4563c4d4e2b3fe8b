#include "core/algebra/dispatch.h"
#include "cuda/device/error.h"
#include "lab/kernels.h"

namespace mpmml::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 4096;

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): neighbouring inputs give unrelated words.
__device__ __forceinline__ uint64_t scramble(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

template <class S>
__global__ void __launch_bounds__(kThreads)
    fill(typename S::Element* data, int64_t count, RandomValues values, uint32_t zero_below) {
  const uint64_t span = static_cast<uint64_t>(int64_t{values.maximum} - values.minimum + 1);
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x; index < count; index += step) {
    const uint64_t random = scramble(scramble(values.seed) + static_cast<uint64_t>(index));
    const auto value =
        static_cast<typename S::Element>(values.minimum + static_cast<int64_t>((random >> 32) * span >> 32));
    data[index] = static_cast<uint32_t>(random) < zero_below ? S::zero : value;
  }
}

__global__ void copy_word(const uint32_t* from, uint32_t* to) { *to = *from; }

/// Returns the nanoseconds that it took, at least as many as asked for.
__device__ uint64_t spin(uint64_t nanoseconds) {
  const auto now = [] {
    uint64_t time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
  };
  const uint64_t start = now();
  uint64_t passed = 0;
  while (passed < nanoseconds) passed = now() - start;
  return passed;
}

__global__ void probe(uint64_t* ticks) {
  const int64_t clocks = clock64();
  ticks[1] = spin(200000);
  ticks[0] = clock64() - clocks;
}

__global__ void wait_for_host() { spin(40000); }

}  // namespace

void fill_random(const Operation& operation, void* data, int64_t count, const RandomValues& values,
                 cudaStream_t stream) {
  const auto zero_below = static_cast<uint32_t>(values.zero_fraction * 4294967295.0);
  with_semiring(operation, [&](auto value) {
    using S = decltype(value);
    fill<S><<<kBlocks, kThreads, 0, stream>>>(static_cast<typename S::Element*>(data), count, values, zero_below);
  });
  MPMML_CUDA(cudaGetLastError());
}

void prime_stream(cudaStream_t stream) {
  wait_for_host<<<1, 1, 0, stream>>>();
  MPMML_CUDA(cudaGetLastError());
}

void read_from_nowhere(void* target, cudaStream_t stream) {
  copy_word<<<1, 1, 0, stream>>>(reinterpret_cast<const uint32_t*>(uintptr_t{16}), static_cast<uint32_t*>(target));
  MPMML_CUDA(cudaGetLastError());
}

void probe_clock(uint64_t* ticks, cudaStream_t stream) {
  probe<<<1, 1, 0, stream>>>(ticks);
  MPMML_CUDA(cudaGetLastError());
}

}  // namespace mpmml::cuda
