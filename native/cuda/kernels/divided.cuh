// Blocks that compute parts of tiles: see division.h.
#pragma once
#include "cuda/kernels/packed.cuh"
#include "cuda/kernels/stream_k.h"

namespace mpmml::cuda {

/// The tile of a block that computes one, and all of it.
struct WholeTile {
  static constexpr bool kIsPart = false;
  static __device__ __forceinline__ unsigned thread() { return threadIdx.x; }
  static __device__ __forceinline__ unsigned number() { return blockIdx.x; }
  static __device__ __forceinline__ unsigned instance() { return blockIdx.z; }
};

/// Adds 1, and returns what was there before. What this block's threads have stored before a barrier is stored before that,
/// and what others have stored before theirs can be read after it.
__device__ __forceinline__ unsigned count_arrival(unsigned* arrived) {
#if __CUDA_ARCH__ >= 700
  unsigned before;
  asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], 1;" : "=r"(before) : "l"(arrived) : "memory");
  return before;
#else
  __threadfence();
  const unsigned before = atomicAdd(arrived, 1u);
  __threadfence();
  return before;
#endif
}

__device__ __forceinline__ unsigned arrivals(const unsigned* arrived) {
  unsigned count;
#if __CUDA_ARCH__ >= 700
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(count) : "l"(arrived) : "memory");
#else
  count = *static_cast<const volatile unsigned*>(arrived);
  __threadfence();
#endif
  return count;
}

/// What a share has of the tile that it has come to. Everything is found again whenever it is asked for: what doesn't
/// change between the tiles of a share would stay in registers, and they are missing in the main loop.
class TilePart {
 public:
  static constexpr bool kIsPart = true;

  /// `step` is in shared memory: the part's first tile of K, among those of all divided tiles.
  __device__ __forceinline__ TilePart(const StreamKSchedule& division, const PartialTiles& memory,
                                      const volatile unsigned* step)
      : division_(division), memory_(memory), step_(step) {}

  static __device__ __forceinline__ unsigned thread() {
    unsigned index;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
    return index;
  }
  static __device__ __forceinline__ unsigned share() {
    unsigned index;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(index));
    return index;
  }
  __device__ __forceinline__ unsigned number() const { return tile_of_launch() % division_.of_instance; }
  __device__ __forceinline__ unsigned instance() const { return tile_of_launch() / division_.of_instance; }
  __device__ __forceinline__ DepthTiles depth() const {
    const unsigned first = tile() * division_.depth;
    return {static_cast<int>(*step_ - first), static_cast<int>(min(end(), first + division_.depth) - *step_)};
  }
  /// Where the share's next part begins; not before end() if this one is the last.
  __device__ __forceinline__ unsigned next() const { return (tile() + 1) * division_.depth; }
  __device__ __forceinline__ unsigned end() const { return division_.begin(share() + 1); }

  /// Combines the block's results with those of the tile's other parts. False if others are still to come: then the block's
  /// own are kept for them.
  template <class W, int kThreads, class Word, int kRows, int kCols>
  __device__ __forceinline__ bool combine(Word (&words)[kRows][kCols]) const {
    const unsigned parts = division_.parts(tile());
    if (parts == 1) return true;
    constexpr int kChunk = kChunkBytes / sizeof(Word), kChunks = kRows * kCols / kChunk;
    static_assert(kCols % kChunk == 0, "chunks are neighbours in a row");
    const auto slot = [&](unsigned of_share) {
      return static_cast<uint4*>(memory_.results) + int64_t{division_.slot(tile(), of_share)} * kChunks * kThreads +
             threadIdx.x;
    };
    // What comes last needn't be kept.
    if (!is_last([&] { return arrivals(memory_.arrived + tile()); }, parts)) {
      uint4* const own = slot(share());
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        Word copy[kChunk];
#pragma unroll
        for (int v = 0; v < kChunk; ++v) copy[v] = words[chunk * kChunk / kCols][chunk * kChunk % kCols + v];
        __stcg(own + chunk * kThreads, *reinterpret_cast<const uint4*>(copy));
      }
      __syncthreads();
      if (!is_last([&] { return count_arrival(memory_.arrived + tile()); }, parts)) return false;
    }
    const unsigned first = division_.first_share(tile()), own = share();
#pragma unroll 2
    for (unsigned other = first; other < first + parts; ++other) {
      if (other == own) continue;
      const uint4* const from = slot(other);
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        const uint4 loaded = __ldcg(from + chunk * kThreads);
        const auto& others = reinterpret_cast<const Word(&)[kChunk]>(loaded);
#pragma unroll
        for (int v = 0; v < kChunk; ++v) {
          Word& word = words[chunk * kChunk / kCols][chunk * kChunk % kCols + v];
          word = W::combine(word, others[v]);
        }
      }
    }
    return true;
  }

 private:
  __device__ __forceinline__ unsigned tile() const { return *step_ / division_.depth; }
  __device__ __forceinline__ unsigned tile_of_launch() const { return static_cast<unsigned>(division_.whole) + tile(); }

  /// Whether one part is missing yet, by what `count` finds: the block's own.
  template <class Count>
  static __device__ __forceinline__ bool is_last(Count&& count, unsigned parts) {
    __shared__ bool last;
    if (threadIdx.x == 0) last = count() + 1 == parts;
    __syncthreads();
    return last;
  }

  const StreamKSchedule& division_;
  const PartialTiles& memory_;
  const volatile unsigned* const step_;
};

}  // namespace mpmml::cuda
