// Operands in shared memory, for Algorithms 2 and 3: shared_a of X·BS_i rows and M columns, read along a column, and
// shared_b of M rows and Y·BS_j columns, read along a row. M is the stride of shared_a. So if M is a power of two, the
// threads of a warp that read different rows use the same bank.
#pragma once
#include "lab/microbench/frame.cuh"

namespace mpmml::microbench {

/// Fills `words` words of shared memory.
__device__ __forceinline__ void fill(uint32_t* shared, int words, const Arguments& p) {
  const int threads = blockDim.x * blockDim.y;
  for (int index = threadIdx.y * blockDim.x + threadIdx.x; index < words; index += threads)
    shared[index] = value(p, index);
}

/// f(threadIdx.y, i) = i·BS_i + threadIdx.y, at column m.
template <int X>
__device__ __forceinline__ void read_column(uint32_t (&a)[X], const uint32_t* shared_a, int m, int columns) {
#pragma unroll
  for (int i = 0; i < X; ++i) a[i] = shared_a[(i * blockDim.y + threadIdx.y) * columns + m];
}

/// g(threadIdx.x, j): chunks of the columns of one vector load, with a stride of BS_j chunks.
template <int Y>
__device__ __forceinline__ void read_row(uint32_t (&b)[Y], const uint32_t* shared_b, int m) {
  constexpr int kChunk = Y % 4 == 0 ? 4 : 2;
  struct alignas(kChunk * sizeof(uint32_t)) Chunk {
    uint32_t words[kChunk];
  };
  static_assert(Y % kChunk == 0, "rows are read in whole chunks");
  const auto* row = reinterpret_cast<const Chunk*>(shared_b + m * Y * blockDim.x) + threadIdx.x;
#pragma unroll
  for (int chunk = 0; chunk < Y / kChunk; ++chunk) {
    const Chunk words = row[chunk * blockDim.x];
#pragma unroll
    for (int word = 0; word < kChunk; ++word) b[chunk * kChunk + word] = words.words[word];
  }
}

/// Returns the unroll factor of the loop over m.
constexpr int unrolled_m(int k) { return k == 1 ? 4 : 1; }

}  // namespace mpmml::microbench
