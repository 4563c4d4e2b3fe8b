// Visitors of a main loop over words: they see the accumulators after each tile of K, and say at the end what is known of a
// result's witness.
//
//   NoVisitor    nothing
//   StepNumbers  the witness itself: accumulators have the numbers of steps (numbered.cuh)
//   ChunkNotes   the chunk of K that decides the result
//
// ChunkNotes compares accumulators after every chunk with what they were before. If one has changed, the chunk's number is
// noted for it. The last note is where the result was reached first, and within that chunk a search for the witness is short
// (runtime/witness.h). Accumulators fill the registers, so what they were is in shared memory. The notes are stored in
// device memory, because they are only read at the end, and become rare: with random operands, an element changes in the
// c-th chunk with probability 1/c.
#pragma once
#include <type_traits>

#include "cuda/kernels/indexed_sum.cuh"
#include "cuda/kernels/packed.cuh"

namespace mpmml::cuda {

/// A configuration's kernel, which also notes where results are reached.
template <class Config>
struct FindsWitnesses : Config {
  static constexpr bool kFindsWitnesses = true;
};

struct NoVisitor {
  static constexpr bool kFinds = false;

  template <class... Places>
  __device__ __forceinline__ explicit NoVisitor(const Places&...) {}
  template <class Word>
  __device__ __forceinline__ void start(Word) const {}
  template <class Accumulators>
  __device__ __forceinline__ void after_tile(const Accumulators&, int, bool) const {}
};

template <class Arithmetic>
class StepNumbers : public NoVisitor {
 public:
  static constexpr bool kFinds = true;

  template <class... Places>
  __device__ __forceinline__ StepNumbers(const DeviceProblem&, const Arithmetic& arithmetic, const Places&...)
      : arithmetic_(arithmetic) {}
  __device__ __forceinline__ int32_t found(int, typename Arithmetic::Accumulator sum) const {
    return arithmetic_.step_of(sum);
  }

 private:
  const Arithmetic& arithmetic_;
};

/// A thread's notes. Each uses only places of its own, so they need no barriers.
template <class Config, class Arithmetic>
class ChunkNotes {
 public:
  using Word = typename Words<Arithmetic>::Word;
  static constexpr bool kFinds = true;
  static constexpr int TM = Config::TM, TN = Config::TN;

  /// `before` is the block's part of shared memory, a word for each element of the tile.
  __device__ __forceinline__ ChunkNotes(const DeviceProblem& problem, const Arithmetic&, Word* before, int64_t instance)
      : problem_(problem),
        before_(before + threadIdx.x * kWords),
        notes_(static_cast<uint16_t*>(problem.scratch) +
               ((problem.first_instance + instance) * gridDim.x + blockIdx.x) * Config::BM * Config::BN + threadIdx.x) {
  }

  /// All accumulators are `initial`.
  __device__ __forceinline__ void start(Word initial) const {
    Word words[kWords];
#pragma unroll
    for (int v = 0; v < kWords; ++v) words[v] = initial;
#pragma unroll
    for (int first = 0; first < TM * TN; first += kWords) write(first, words);
  }

  /// `tile` is that of K. If it ends a chunk, the chunk is noted for the accumulators that have changed in it.
  __device__ __forceinline__ void after_tile(const Word (&acc)[TM][TN], int tile, bool is_last) const {
    const bool ends_chunk = ((tile + 1) & ((1 << problem_.chunk_shift) - 1)) == 0 || is_last;
    if (ends_chunk) note(acc, tile >> problem_.chunk_shift);
  }

  /// A hint: hint_of_chunk() of the latest note for an element; undefined if its accumulator is initial().
  template <class Accumulator>
  __device__ __forceinline__ int32_t found(int element, Accumulator) const {
    return hint_of_chunk(notes_[element * Config::kThreads]);
  }

 private:
  /// The words of a 16-byte access.
  static constexpr int kWords = kChunkBytes / sizeof(Word);
  static_assert(TN % kWords == 0, "neighbours in a row are read together");

  __device__ __forceinline__ void note(const Word (&acc)[TM][TN], int chunk) const {
#pragma unroll
    for (int first = 0; first < TM * TN; first += kWords) {
      const Word* const now = &acc[first / TN][first % TN];
      Word before[kWords];
      *reinterpret_cast<uint4*>(before) = *reinterpret_cast<const uint4*>(before_ + first * Config::kThreads);
      write(first, now);
#pragma unroll
      for (int v = 0; v < kWords; ++v) {
        if (has_improved(before[v], now[v])) {
          notes_[(first + v) * Config::kThreads] = static_cast<uint16_t>(chunk);
        }
      }
    }
  }

  __device__ __forceinline__ void write(int first, const Word* words) const {
    Word chunk[kWords];
#pragma unroll
    for (int v = 0; v < kWords; ++v) chunk[v] = words[v];
    *reinterpret_cast<uint4*>(before_ + first * Config::kThreads) = *reinterpret_cast<const uint4*>(chunk);
  }

  /// Bits count as one truth value: of a true one no further bit matters. Floats −0 and 0 are equal.
  static __device__ __forceinline__ bool has_improved(Word before, Word now) {
    if constexpr (steps_per_operand<Arithmetic> > 1) return before == 0 && now != 0;
    return before != now;
  }

  const DeviceProblem& problem_;
  Word* const before_;
  uint16_t* const notes_;
};

template <class Config, class Arithmetic>
using VisitorOf = std::conditional_t<Config::kFindsWitnesses, ChunkNotes<Config, Arithmetic>,
                                     std::conditional_t<numbers_steps<Arithmetic>, StepNumbers<Arithmetic>, NoVisitor>>;

}  // namespace mpmml::cuda
