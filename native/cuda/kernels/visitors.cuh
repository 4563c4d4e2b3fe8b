// Visitors of the mainloop over words. A visitor sees the accumulators after each tile of K, and at the end provides
// the witness of each result, or a hint for it:
//
//   NoVisitor    nothing
//   StepNumbers  the witness: accumulators contain the indices of k-steps (indexed_sum.cuh)
//   ChunkNotes   a hint: the chunk of K that decides the result
//
// ChunkNotes compares the accumulators after every chunk with their values before it. If an accumulator has changed,
// the index of the chunk is noted for it. The last note is the chunk in which the result was reached first, and a
// search for the witness within one chunk is short (runtime/witness.h). Accumulators fill the registers, so the
// previous values are in shared memory. The notes are in device memory, because they are read only at the end, and are
// written rarely: with random operands, an element changes in the c-th chunk with probability 1/c.
#pragma once
#include <type_traits>

#include "cuda/kernels/indexed_sum.cuh"
#include "cuda/kernels/packed.cuh"

namespace mpmml::cuda {

/// Variant of a configuration that also notes where results are reached first.
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

/// Notes of a thread. Every thread has its own slots, so no barriers are needed.
template <class Config, class Arithmetic>
class ChunkNotes {
 public:
  using Word = typename Words<Arithmetic>::Word;
  static constexpr bool kFinds = true;
  static constexpr int TM = Config::TM, TN = Config::TN;

  /// `before` is shared memory of the block, with a word for each element of the tile.
  __device__ __forceinline__ ChunkNotes(const DeviceProblem& problem, const Arithmetic&, Word* before, int64_t instance)
      : problem_(problem),
        before_(before + threadIdx.x * kWords),
        notes_(static_cast<uint16_t*>(problem.scratch) +
               ((problem.first_instance + instance) * gridDim.x + blockIdx.x) * Config::BM * Config::BN + threadIdx.x) {
  }

  /// Initializes the previous values of all accumulators with `initial`.
  __device__ __forceinline__ void start(Word initial) const {
    Word words[kWords];
#pragma unroll
    for (int v = 0; v < kWords; ++v) words[v] = initial;
#pragma unroll
    for (int first = 0; first < TM * TN; first += kWords) write(first, words);
  }

  /// Called after each tile of K. If the tile ends a chunk, the chunk is noted for the accumulators that have changed
  /// in it.
  __device__ __forceinline__ void after_tile(const Word (&acc)[TM][TN], int tile, bool is_last) const {
    const bool ends_chunk = ((tile + 1) & ((1 << problem_.chunk_shift) - 1)) == 0 || is_last;
    if (ends_chunk) note(acc, tile >> problem_.chunk_shift);
  }

  /// Returns the hint of an element, hint_of_chunk() of its latest note; undefined if its accumulator is initial().
  template <class Accumulator>
  __device__ __forceinline__ int32_t found(int element, Accumulator) const {
    return hint_of_chunk(notes_[element * Config::kThreads]);
  }

 private:
  /// Words per 16-byte access.
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

  /// Returns whether an accumulator has improved. Words of bits count as one truth value, so only the first true bit is
  /// an improvement. Floats −0 and 0 are equal.
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
