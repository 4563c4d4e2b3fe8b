// Witnesses of the exponent families. A note holds a level and the first tile of K with a sum of that level. In that
// tile the witness is the first k-step whose product is the level's power of two (docs/tensor-cores.md).
#pragma once
#include <cuda_bf16.h>

#include "cuda/kernels/epilogue.cuh"
#include "cuda/kernels/exponent_packing.cuh"
#include "cuda/kernels/tile_witness.cuh"

namespace mpmml::cuda {

#if __CUDA_ARCH__ >= 800

/// Sets a bit for each of the two steps in word `w` of A and B whose product is the value `wanted`: bits 2w and 16 + 2w + 1.
template <int w>
__device__ __forceinline__ uint32_t marks(uint32_t a, uint32_t b, __nv_bfloat162 wanted) {
  const auto pair = [](uint32_t word) { return *reinterpret_cast<const __nv_bfloat162*>(&word); };
  return __heq2_mask(__hmul2(pair(a), pair(b)), wanted) & (1u << (2 * w) | 2u << (16 + 2 * w));
}
__device__ __forceinline__ uint32_t marks(const PartOfLine& a, const PartOfLine& b, __nv_bfloat162 wanted) {
  const uint4 &a0 = a.chunks[0], &a1 = a.chunks[1], &b0 = b.chunks[0], &b1 = b.chunks[1];
  const uint32_t found = marks<0>(a0.x, b0.x, wanted) | marks<1>(a0.y, b0.y, wanted) | marks<2>(a0.z, b0.z, wanted) |
                         marks<3>(a0.w, b0.w, wanted) | marks<4>(a1.x, b1.x, wanted) | marks<5>(a1.y, b1.y, wanted) |
                         marks<6>(a1.z, b1.z, wanted) | marks<7>(a1.w, b1.w, wanted);
  return (found | found >> 16) & 0xffff;
}

#endif

/// A sum's level and its tile of K, packed into one word. The maximum of such words is the greatest level with its
/// first tile.
template <class Arithmetic>
struct ExponentNote {
  static constexpr int kScale = Arithmetic::kScale.scale;
  /// Exponent of distance 0, with the bias of float32.
  static constexpr int kTop = Arithmetic::kScale.top_a + Arithmetic::kScale.top_b + kMaxExponent;
  /// A level is (exponent + kShift) / kScale, rounded down. So all exponents of a distance have one level, and the
  /// level of an empty sum is 0.
  static constexpr int kShift = (kScale - kTop % kScale) % kScale;
  /// Bits of a tile index. They suffice for all tiles, because the indices of steps are int32.
  static constexpr int kNumberBits = 25;
  static constexpr uint32_t kNumbers = (uint32_t{1} << kNumberBits) - 1;

  /// Returns the note of a sum, given as the bits of the float. `mirrored` is kNumbers − the index of the tile.
  static __device__ __forceinline__ int of(int sum, uint32_t mirrored) {
    // The upper half of a product with kPerLevel has the level above kNumberBits. The error of rounding kPerLevel up is
    // less than 1.
    constexpr uint32_t kPerLevel = ((uint64_t{1} << (32 + kNumberBits - 23)) + kScale - 1) / kScale;
    constexpr uint32_t kOffset = ((uint32_t{kShift} << kNumberBits) + kScale - 1) / kScale;
    uint64_t level = static_cast<uint64_t>(static_cast<uint32_t>(sum)) * kPerLevel;
    // A nonzero lower half doesn't change the result, but lets the compiler fuse this addition with the product into
    // one instruction. A constant takes two more.
    if constexpr (kOffset > 0) level += uint64_t{kOffset} << 32 | mirrored;
    return static_cast<int>((static_cast<uint32_t>(level >> 32) & ~kNumbers) | mirrored);
  }
  /// Returns the exponent of the level's greatest terms, with the bias of float32; not positive if the level has no
  /// terms.
  static __device__ __forceinline__ int exponent(int note) { return kScale * (note >> kNumberBits) - kShift; }
  static constexpr int kStepsOfTile = kTileSteps<Arithmetic>, kOfFirstTile = static_cast<int>(kNumbers);
  static __device__ __forceinline__ int tile(int note) { return static_cast<int>(kNumbers - (note & kNumbers)); }
  /// Returns the first step whose product is the power of two of the note's level.
  static __device__ __forceinline__ int step(const PartOfLine& a, const PartOfLine& b, int note, int lane) {
#if __CUDA_ARCH__ >= 800
    const auto bits = static_cast<uint16_t>(exponent(note) << 7);
    // `mark` is 32 if no step matches; the result is then beyond the tile.
    const int mark = __clz(static_cast<int>(__brev(marks(a, b, __bfloat162bfloat162(__ushort_as_bfloat16(bits))))));
    const int place = mark % 8 + 8 * lane + mark / 8 * (kExponentDepth / 2);
    return place - place / kChunkPlaces * (kChunkPlaces - Arithmetic::kScale.steps);
#else
    return kStepsOfTile;
#endif
  }

  static_assert(((kTop + kScale - 1 + kShift) / kScale + 1) << kNumberBits > 0, "the greatest level fits a word");
  static_assert(int64_t{kNumbers + 1} * kExponentTileBytes >= int64_t{1} << 39, "no device holds more tiles of a line");
};

/// Stores results and hints from the notes of the block's batch entry.
template <class Arithmetic>
struct StoreNotes {
  const DeviceProblem& problem;
  const Arithmetic& arithmetic;
  const Epilogue<Arithmetic> epilogue;
  const QuadOfRow quad{};

  __device__ __forceinline__ StoreNotes(const DeviceProblem& all, const Arithmetic& own)
      : problem(all), arithmetic(own), epilogue(all, own, blockIdx.z) {}

  /// Stores one quad. `row` and `col` are the position of the quad (QuadOfRow); `pairs` are the notes of the thread's
  /// pairs. `best_of_cols` begins at the quad's first column.
  __device__ __forceinline__ void operator()(int64_t row, int64_t col, const int* pairs, int32_t best_of_row,
                                             const int32_t* best_of_cols) const {
    int32_t sums[4], found[4];
    quad.exchange(pairs, found);
    if (row >= problem.m) return;
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      const int exponent = ExponentNote<Arithmetic>::exponent(found[v]);
      sums[v] = arithmetic.decode(exponent, wrapping_add(best_of_row, best_of_cols[v]));
      found[v] = hint_of_chunk(found[v]);
    }
    epilogue.store(row, col, sums, found);
  }
};

}  // namespace mpmml::cuda
