// The end of the pipelined family: from a thread's accumulators to its results in C.
#pragma once
#include "cuda/kernels/main_loop.cuh"

namespace mpmml::cuda {

/// A thread's part of a tile of C.
template <class Config, class Arithmetic>
class TileStore {
 public:
  using W = Words<Arithmetic>;
  using Word = typename W::Word;
  static constexpr int TM = Config::TM, TN = Config::TN;

  __device__ __forceinline__ TileStore(const DeviceProblem& problem, const Arithmetic& arithmetic, int64_t instance,
                                       TilePlace target, const ThreadPlace<Config>& thread)
      : problem_(problem), epilogue_(problem, arithmetic, instance), target_(target), thread_(thread) {}

  /// Stores the results of a tile without slices.
  template <class Visitor>
  __device__ __forceinline__ void store_all(const Word (&acc)[TM][TN], const Visitor& visitor) const {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      if (row_of(i) >= problem_.m) continue;
#pragma unroll
      for (int j = 0; j < TN; j += kChunk) {
        Sum sums[kColumns];
        split(&acc[i][j], sums);
        if constexpr (Visitor::kFinds) {
          int32_t found[kColumns];
#pragma unroll
          for (int v = 0; v < kColumns; ++v) found[v] = visitor.found(i * TN + j + v, sums[v]);
          epilogue_.store(row_of(i), col_of(j), sums, found);
        } else {
          epilogue_.store(row_of(i), col_of(j), sums);
        }
      }
    }
  }

  /// Combines the results of the slices of K: each slice writes its own to shared memory, and then combines its share of all
  /// and stores it. An element's word is at [slice][element][thread]. Whole chunks would want neighbouring registers, and then
  /// the main loop spills.
  template <class Tile>
  __device__ __forceinline__ void combine_slices(Word* shared, const Word (&acc)[TM][TN], const Tile& own_tile) const {
    constexpr int kShare = TM * TN / kChunk / Config::kSlices;
    __syncthreads();
#pragma unroll
    for (int element = 0; element < TM * TN; ++element) {
      *word_at(shared, thread_.slice, element) = acc[element / TN][element % TN];
    }
    __syncthreads();
    [[maybe_unused]] Word combined[kShare][kChunk];
    if constexpr (Tile::kIsPart) {
#pragma unroll
      for (int share = 0; share < kShare; ++share) {
        combine_chunk(shared, thread_.slice * kShare + share, combined[share]);
      }
      if (!own_tile.template combine<W, Config::kThreads>(combined)) return;
    }
#pragma unroll
    for (int share = 0; share < kShare; ++share) {
      const int chunk = thread_.slice * kShare + share, i = chunk * kChunk / TN, j = chunk * kChunk % TN;
      Word words[kChunk];
      if constexpr (Tile::kIsPart) {
#pragma unroll
        for (int v = 0; v < kChunk; ++v) words[v] = combined[share][v];
      } else {
        combine_chunk(shared, chunk, words);
      }
      Sum sums[kColumns];
      split(words, sums);
      if (row_of(i) < problem_.m) epilogue_.store(row_of(i), col_of(j), sums);
    }
  }

 private:
  using Sum = typename Arithmetic::Accumulator;
  static constexpr int kChunk = kChunkBytes / sizeof(Word), kColumns = kChunk * W::kLanes;

  /// Place in C of the thread's chunk in row i and from column j on.
  __device__ __forceinline__ int64_t row_of(int i) const {
    return int64_t{target_.m} * Config::BM + (i / kChunk * Config::kThreadsM + thread_.m) * kChunk + i % kChunk;
  }
  __device__ __forceinline__ int64_t col_of(int j) const {
    return (int64_t{target_.n} * Config::BN + j * Config::kThreadsN + thread_.n * kChunk) * W::kLanes;
  }

  static __device__ __forceinline__ void split(const Word* words, Sum (&sums)[kColumns]) {
#pragma unroll
    for (int v = 0; v < kColumns; ++v) sums[v] = W::lane_of(words[v / W::kLanes], v % W::kLanes);
  }

  __device__ __forceinline__ Word* word_at(Word* shared, int slice, int element) const {
    return shared + (slice * TM * TN + element) * Config::kSliceThreads + thread_.number;
  }
  __device__ __forceinline__ void combine_chunk(Word* shared, int chunk, Word (&words)[kChunk]) const {
#pragma unroll
    for (int v = 0; v < kChunk; ++v) {
      words[v] = *word_at(shared, 0, chunk * kChunk + v);
#pragma unroll
      for (int other = 1; other < Config::kSlices; ++other) {
        words[v] = W::combine(words[v], *word_at(shared, other, chunk * kChunk + v));
      }
    }
  }

  const DeviceProblem& problem_;
  const Epilogue<Arithmetic> epilogue_;
  const TilePlace target_;
  const ThreadPlace<Config> thread_;
};

}  // namespace mpmml::cuda
