// Finds which k decides each accumulator of a tile, for witnesses. Compiled once for each instruction set (see vector.h).
#pragma once
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "core/arithmetic.h"
#include "cpu/bits.h"
#include "cpu/epilogue.h"
#include "cpu/kernel.h"
#include "cpu/vector.h"
#include "cpu/wide.h"

namespace mpmml::cpu::MPMML_ISA {

/// A bit for each lane: whether the elements are equal.
template <class T>
MPMML_INLINE uint64_t equal_lanes(const Vector<T>& x, const Vector<T>& y) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>) {
    return _mm512_cmp_ps_mask((__m512)x, (__m512)y, _CMP_EQ_OQ);
  } else if constexpr (std::is_same_v<T, double>) {
    return _mm512_cmp_pd_mask((__m512d)x, (__m512d)y, _CMP_EQ_OQ);
  } else if constexpr (sizeof(T) == 2) {
    return _mm512_cmpeq_epi16_mask((__m512i)x, (__m512i)y);
  } else if constexpr (sizeof(T) == 4) {
    return _mm512_cmpeq_epi32_mask((__m512i)x, (__m512i)y);
  } else {
    return _mm512_cmpeq_epi64_mask((__m512i)x, (__m512i)y);
  }
#elif defined(__AVX2__)
  const auto equal = x == y;
  if constexpr (sizeof(T) == 2) {
    const __m256i bytes = _mm256_packs_epi16((__m256i)equal, _mm256_setzero_si256());
    return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_permute4x64_epi64(bytes, 0xd8)));
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<uint32_t>(_mm256_movemask_ps((__m256)equal));
  } else {
    return static_cast<uint32_t>(_mm256_movemask_pd((__m256d)equal));
  }
#elif defined(__SSE2__)
  const auto equal = x == y;
  if constexpr (sizeof(T) == 2) {
    return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16((__m128i)equal, _mm_setzero_si128())));
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<uint32_t>(_mm_movemask_ps((__m128)equal));
  } else {
    return static_cast<uint32_t>(_mm_movemask_pd((__m128d)equal));
  }
#else
  const auto equal = x == y;
  uint64_t bits = 0;
  for (int lane = 0; lane < VectorOf<T>::lanes; ++lane) bits |= uint64_t{equal[lane] != 0} << lane;
  return bits;
#endif
}

/// A tile of a block: its place among the accumulators, its first result, and how many results exist.
struct TileOfBlock {
  int64_t place;
  int64_t row;
  int64_t col;
  int64_t rows;
  int64_t cols;
};

/// a ⊗ b, for vectors of operands that each hold one k-step.
template <class Arithmetic, class V>
MPMML_INLINE V candidate(V a, V b) {
  if constexpr (wraps_sums<Arithmetic>) {
    return Arithmetic::accumulate(Arithmetic::initial() - V{}, a, b);
  } else {
    return Arithmetic::Semiring::extend(a, b);
  }
}

template <class Arithmetic>
class Windows {
  using Operand = typename Arithmetic::Operand;
  using Accumulator = typename Arithmetic::Accumulator;
  static_assert(sizeof(Operand) == sizeof(Accumulator));
  static constexpr int kLanes = VectorOf<Operand>::lanes;
  static constexpr int kSteps = steps_per_operand<Arithmetic>;
  /// The number of a slab, in as many bytes as an accumulator.
  using Slab = std::conditional_t<sizeof(Accumulator) == 2, uint16_t,
                                  std::conditional_t<sizeof(Accumulator) == 4, uint32_t, uint64_t>>;

 public:
  /// Operands in a window: as few as don't make the slabs too short.
  static constexpr int kWindow = kSteps > 1 ? 16 : sizeof(Operand) == 8 ? 32 : 64;
  static_assert(kWindow % kLanes == 0 && kWindow <= 64);

  /// After a slab's part of a tile: notes where accumulators are better than `before`, and after the last slab stores the
  /// witnesses.
  template <int MR, int NR>
  static __attribute__((noinline)) void follow(const BlockRequest& block, const TileOfBlock& of,
                                               const Accumulator* before, const Accumulator* tile,
                                               const Epilogue<Arithmetic>& epilogue) {
    Slab* const slabs = block.windows.slabs ? static_cast<Slab*>(block.windows.slabs) + of.place : nullptr;
    if (slabs) note<MR * NR>(block, before, tile, slabs);
    if (block.ends) find<NR>(block.windows, of, tile, slabs, epilogue);
  }

 private:
  template <int cells>
  MPMML_HOST_DEVICE static void note(const BlockRequest& block, const Accumulator* before, const Accumulator* after,
                                     Slab* slabs) {
    if (block.starts) return static_cast<void>(__builtin_memset(slabs, 0, cells * sizeof(Slab)));
    const Vector<Slab> slab = splat(static_cast<Slab>(block.slab));
    for (int i = 0; i < cells; i += kLanes) {
      const Vector<Accumulator> x = load(before + i), y = load(after + i);
      const Vector<Slab> noted = load(slabs + i);
      if constexpr (kSteps > 1) {
        store(slabs + i, (x == 0) & (y != 0) ? slab : noted);
      } else {
        store(slabs + i, x != y ? slab : noted);
      }
    }
  }

  template <int NR>
  MPMML_HOST_DEVICE static void find(const WindowsOfBlock& windows, const TileOfBlock& of, const Accumulator* tile,
                                     const Slab* slabs, const Epilogue<Arithmetic>& epilogue) {
    const auto* a = static_cast<const Operand*>(windows.a) + of.row * kWindow;
    const auto* b = static_cast<const Operand*>(windows.b) + of.col * kWindow;
    const int64_t stride_a = windows.lanes_a * kWindow, stride_b = windows.lanes_b * kWindow;
    alignas(kVectorBytes) int32_t found[NR];
    for (int64_t i = 0; i < of.rows; ++i, a += kWindow) {
      for (int64_t j = 0; j < of.cols; ++j) {
        const Accumulator acc = tile[i * NR + j];
        int64_t window = slabs ? slabs[i * NR + j] * windows.of_slab : 0;
        const Operand* at_a = a + window * stride_a;
        const Operand* at_b = b + window * stride_b + j * kWindow;
        uint64_t bits = candidates(at_a, at_b, acc);
        // No slab has such a candidate if the result is zero.
        for (int64_t other = 1; bits == 0 && other < windows.of_slab && window + 1 < windows.count; ++other, ++window) {
          bits = candidates(at_a += stride_a, at_b += stride_b, acc);
        }
        found[j] = static_cast<int32_t>(window * kWindow * kSteps) + first(bits, at_a, at_b);
      }
      epilogue.store_witnesses(tile + i * NR, found, of.row + i, of.col, of.cols);
    }
  }

  /// A bit for each step of a window: whether its candidate is `acc`.
  MPMML_HOST_DEVICE static uint64_t candidates(const Operand* a, const Operand* b, Accumulator acc) {
    const Vector<Accumulator> all = splat(acc);
    uint64_t bits = 0;
    MPMML_UNROLL
    for (int step = 0; step < kWindow; step += kLanes) {
      const Vector<Operand> x = load(a + step), y = load(b + step);
      if constexpr (kSteps > 1) {
        bits |= (equal_lanes<Operand>(x & y, Vector<Operand>{}) ^ ((uint64_t{1} << kLanes) - 1)) << step;
      } else {
        bits |= equal_lanes<Operand>(candidate<Arithmetic>(x, y), all) << step;
      }
    }
    return bits;
  }

  /// The first k-step in a window.
  MPMML_HOST_DEVICE static int32_t first(uint64_t bits, const Operand* a, const Operand* b) {
    const int step = __builtin_ctzll(bits | uint64_t{1} << (kWindow - 1));
    if constexpr (kSteps > 1) {
      return step * kSteps + __builtin_ctzll((a[step] & b[step]) | uint64_t{1} << 63);
    } else {
      return step;
    }
  }
};

}  // namespace mpmml::cpu::MPMML_ISA
