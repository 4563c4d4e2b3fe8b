// Witnesses of the exponent families. What is noted is a level, and the first tile of K with a sum of that level. In that
// tile the witness is the first step whose product is the level's power of two (docs/tensor-cores.md).
#pragma once
#include <cuda_bf16.h>

#include "cuda/kernels/epilogue.cuh"
#include "cuda/kernels/exponent_packing.cuh"
#include "cuda/kernels/tile_witness.cuh"

namespace mpmml::cuda {

#if __CUDA_ARCH__ >= 800

/// Marks the steps of a word of A and of B whose product is `wanted`, among 32 bits: bit 2w and bit 16 + 2w + 1.
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

/// A sum's level, and the tile of K that it is of, in a word whose maximum is the greatest level with its first tile.
template <class Arithmetic>
struct ExponentNote {
  static constexpr int kScale = Arithmetic::kScale.scale;
  /// Of distance 0, with float's bias.
  static constexpr int kTop = Arithmetic::kScale.top_a + Arithmetic::kScale.top_b + kMaxExponent;
  /// A level is (exponent + kShift) / kScale, rounded down. So the exponents of a distance have the same, and that of a sum
  /// of nothing is 0.
  static constexpr int kShift = (kScale - kTop % kScale) % kScale;
  /// As many as the numbers of tiles need at most, because steps are numbered by int32.
  static constexpr int kNumberBits = 25;
  static constexpr uint32_t kNumbers = (uint32_t{1} << kNumberBits) - 1;

  /// Of a sum's bits. `mirrored` is kNumbers − the number of the tile.
  static __device__ __forceinline__ int of(int sum, uint32_t mirrored) {
    // The upper half of a product with kPerLevel has the level above kNumberBits. What rounding up adds is less than 1.
    constexpr uint32_t kPerLevel = ((uint64_t{1} << (32 + kNumberBits - 23)) + kScale - 1) / kScale;
    constexpr uint32_t kOffset = ((uint32_t{kShift} << kNumberBits) + kScale - 1) / kScale;
    uint64_t level = static_cast<uint64_t>(static_cast<uint32_t>(sum)) * kPerLevel;
    // With something in the lower half, which changes nothing, this is one instruction together with the product. A
    // constant takes two more.
    if constexpr (kOffset > 0) level += uint64_t{kOffset} << 32 | mirrored;
    return static_cast<int>((static_cast<uint32_t>(level >> 32) & ~kNumbers) | mirrored);
  }
  /// The exponent of the level's greatest terms, with float's bias; not positive if there are none.
  static __device__ __forceinline__ int exponent(int note) { return kScale * (note >> kNumberBits) - kShift; }
  static constexpr int kStepsOfTile = kTileSteps<Arithmetic>, kOfFirstTile = static_cast<int>(kNumbers);
  static __device__ __forceinline__ int tile(int note) { return static_cast<int>(kNumbers - (note & kNumbers)); }
  /// The product of the step that reaches a level is the level's power of two.
  static __device__ __forceinline__ int step(const PartOfLine& a, const PartOfLine& b, int note, int lane) {
#if __CUDA_ARCH__ >= 800
    const auto bits = static_cast<uint16_t>(exponent(note) << 7);
    // 32 if there is none: then the step is beyond the tile.
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

/// Stores what has been noted for results of the block's instance.
template <class Arithmetic>
struct StoreNotes {
  const DeviceProblem& problem;
  const Arithmetic& arithmetic;
  const Epilogue<Arithmetic> epilogue;
  const QuadOfRow quad{};

  __device__ __forceinline__ StoreNotes(const DeviceProblem& all, const Arithmetic& own)
      : problem(all), arithmetic(own), epilogue(all, own, blockIdx.z) {}

  /// `row` and `col` are those of the quad, the notes those of the thread's pairs. The best elements are of the quad's row,
  /// and from its first column on.
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
