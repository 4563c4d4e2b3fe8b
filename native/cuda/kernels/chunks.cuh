// Which chunk of K decides each result. A kernel that notes chunks compares its accumulators after every chunk with what
// they were before. If one has changed, the chunk's number is noted for it. The last note is where the result was
// reached first, and within that chunk a search for the witness is short (runtime/witness.h).
//
// Accumulators fill the registers, so what they were is in shared memory. The notes are stored in device memory,
// because they are only read at the end, and become rare: with random operands, an element changes in the c-th chunk
// with probability 1/c.
#pragma once
#include "cuda/kernels/packed.cuh"

namespace mpmml::cuda {

/// Whether a configuration's kernel notes chunks.
template <class Config, class = void>
constexpr bool notes_chunks = false;
template <class Config>
constexpr bool notes_chunks<Config, std::void_t<decltype(Config::kNotesChunks)>> = true;

/// A thread's notes. `before` is its block's part of shared memory and `notes` that of device memory, for each element
/// of the tile. Each thread uses only places of its own, so they need no barriers.
template <class Config, class Arithmetic>
class ChunkNotes {
 public:
  using Word = typename Words<Arithmetic>::Word;
  static constexpr int TM = Config::TM, TN = Config::TN;

  __device__ __forceinline__ ChunkNotes(Word* before, uint16_t* notes)
      : before_(before + threadIdx.x * kWords), notes_(notes + threadIdx.x) {}

  /// Says that all accumulators are `initial`.
  __device__ __forceinline__ void start(Word initial) const {
    Word words[kWords];
#pragma unroll
    for (int v = 0; v < kWords; ++v) words[v] = initial;
#pragma unroll
    for (int first = 0; first < TM * TN; first += kWords) write(first, words);
  }

  /// Notes `chunk` for those that have changed.
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

  /// The latest note for an element; undefined if its accumulator is initial().
  __device__ __forceinline__ int latest(int element) const { return notes_[element * Config::kThreads]; }

 private:
  /// The words of a 16-byte access.
  static constexpr int kWords = kChunkBytes / sizeof(Word);
  static_assert(TN % kWords == 0, "neighbours in a row are read together");

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

  Word* const before_;
  uint16_t* const notes_;
};

}  // namespace mpmml::cuda
