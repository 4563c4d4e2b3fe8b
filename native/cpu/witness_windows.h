// Finds the k that decides each accumulator of a tile, for witnesses. Compiled once for each instruction set (see
// vector.h).
#pragma once
#include "core/algebra/arithmetic.h"
#include "cpu/epilogue.h"
#include "cpu/intrinsics.h"
#include "cpu/kernel.h"
#include "cpu/vector.h"
#include "cpu/wide.h"

namespace mpmml::cpu::MPMML_ISA {

/// Returns a bit for each lane that is set if the elements are equal.
template <class T>
MPMML_INLINE uint64_t equal_lanes(const Vector<T>& x, const Vector<T>& y) {
#if defined(__AVX512F__)
  uint64_t bits;
  if constexpr (std::is_same_v<T, float>) {
    bits = _mm512_cmp_ps_mask((__m512)x, (__m512)y, _CMP_EQ_OQ);
  } else if constexpr (std::is_same_v<T, double>) {
    bits = _mm512_cmp_pd_mask((__m512d)x, (__m512d)y, _CMP_EQ_OQ);
  } else if constexpr (sizeof(T) == 1) {
    bits = _mm512_cmpeq_epi8_mask((__m512i)x, (__m512i)y);
  } else if constexpr (sizeof(T) == 2) {
    bits = _mm512_cmpeq_epi16_mask((__m512i)x, (__m512i)y);
  } else if constexpr (sizeof(T) == 4) {
    bits = _mm512_cmpeq_epi32_mask((__m512i)x, (__m512i)y);
  } else {
    bits = _mm512_cmpeq_epi64_mask((__m512i)x, (__m512i)y);
  }
  // GCC 12 may store a mask of 8 or 16 bits on the stack and read it back as 64 bits, if there is a call before its
  // bits are used, as with ThreadSanitizer. So the bits are moved out of the mask register here.
  asm("" : "+r"(bits));
  return bits;
#elif defined(__AVX2__)
  const auto equal = x == y;
  if constexpr (sizeof(T) == 1) {
    return static_cast<uint32_t>(_mm256_movemask_epi8((__m256i)equal));
  } else if constexpr (sizeof(T) == 2) {
    const __m256i bytes = _mm256_packs_epi16((__m256i)equal, _mm256_setzero_si256());
    return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_permute4x64_epi64(bytes, 0xd8)));
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<uint32_t>(_mm256_movemask_ps((__m256)equal));
  } else {
    return static_cast<uint32_t>(_mm256_movemask_pd((__m256d)equal));
  }
#elif defined(__SSE2__)
  const auto equal = x == y;
  if constexpr (sizeof(T) == 1) {
    return static_cast<uint32_t>(_mm_movemask_epi8((__m128i)equal));
  } else if constexpr (sizeof(T) == 2) {
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

/// Number of a stretch of k-steps, of the size of an accumulator.
template <class Accumulator>
using NoteOf = std::conditional_t<sizeof(Accumulator) == 1, uint8_t,
                                  std::conditional_t<sizeof(Accumulator) == 2, uint16_t,
                                                     std::conditional_t<sizeof(Accumulator) == 4, uint32_t, uint64_t>>>;

/// A tile of a block: its first result, and how many results exist.
struct TileOfBlock {
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

/// Whether witnesses are found in windows. Packed bits have a separate kernel for witnesses (boolean_witness.h).
template <class Arithmetic>
constexpr bool has_windows = Arithmetic::Semiring::idempotent && steps_per_operand<Arithmetic> == 1;

template <class Arithmetic>
class Windows {
  using Operand = typename Arithmetic::Operand;
  using Accumulator = typename Arithmetic::Accumulator;
  static_assert(sizeof(Operand) == sizeof(Accumulator));
  static constexpr int kLanes = VectorOf<Operand>::lanes;

 public:
  /// k-steps in a window: a short window is searched faster, but needs more notes.
  static constexpr int kWindow = kLanes > 32 ? kLanes : 32;
  static_assert(kWindow % kLanes == 0 && kWindow <= 64);

  /// Prefetches windows in the order of their addresses. find() reads them in any order, which takes several times as
  /// long if they aren't in the second-level cache.
  static __attribute__((noinline)) void fetch_a(const WindowsOfBlock& windows, int64_t row, int64_t rows) {
    fetch(windows.a, windows.row + row, rows, windows.count);
  }
  static __attribute__((noinline)) void fetch_b(const WindowsOfBlock& windows, int64_t cols) {
    fetch(windows.b, windows.col, cols, windows.count);
  }

  /// Finds and stores the witnesses of a tile. `notes` is null if there is only one stretch.
  template <int NR>
  static __attribute__((noinline)) void find(const WindowsOfBlock& windows, const TileOfBlock& of,
                                             const Accumulator* tile, const NoteOf<Accumulator>* notes,
                                             const Epilogue<Arithmetic>& epilogue) {
    const Operand* lanes[NR];
    for (int64_t j = 0; j < of.cols; ++j) lanes[j] = lane_of(windows.b, windows.col + of.col + j, windows.count);
    alignas(kVectorBytes) int32_t found[NR];
    for (int64_t i = 0; i < of.rows; ++i) {
      const Operand* const a = lane_of(windows.a, windows.row + of.row + i, windows.count);
      for (int64_t j = 0; j < of.cols; ++j) {
        const Accumulator acc = tile[i * NR + j];
        const int64_t window = notes ? notes[i * NR + j] * windows.of_stretch : 0;
        const Operand* at_a = a + window * kStride;
        const Operand* at_b = lanes[j] + window * kStride;
        const uint64_t bits = candidates(at_a, at_b, acc);
        found[j] = static_cast<int32_t>(window * kWindow) + first(bits);
        if (__builtin_expect(bits == 0 && windows.of_stretch > 1, false)) {
          found[j] = find_in_later_windows(windows, a, lanes[j], window, acc);
        }
      }
      epilogue.store_witnesses(tile + i * NR, found, of.row + i, of.col, of.cols);
    }
  }

 private:
  /// Elements from a window of a lane to its next window.
  static constexpr int64_t kStride = kLanesTogether * kWindow;

  /// Returns the first window of a lane. Each lane has `count` windows.
  MPMML_HOST_DEVICE static const Operand* lane_of(const void* operand, int64_t lane, int64_t count) {
    const int64_t together = lane / kLanesTogether, rest = lane % kLanesTogether;
    return static_cast<const Operand*>(operand) + together * count * kStride + rest * kWindow;
  }

  MPMML_HOST_DEVICE static void fetch(const void* operand, int64_t lane, int64_t lanes, int64_t count) {
    const Operand* const end = lane_of(operand, round_up(lane + lanes, kLanesTogether), count);
    const Operand* from = lane_of(operand, lane / kLanesTogether * kLanesTogether, count);
    for (; from < end; from += kCacheLine / sizeof(Operand))
      static_cast<void>(*static_cast<const volatile Operand*>(from));
  }

  /// Searches the windows of a stretch after its first for the candidate of one accumulator. Returns kNoWitness if
  /// there is none, which happens only if the result is zero.
  static __attribute__((noinline)) int32_t find_in_later_windows(const WindowsOfBlock& windows, const Operand* a,
                                                                 const Operand* b, int64_t window, Accumulator acc) {
    const int64_t end = window + windows.of_stretch < windows.count ? window + windows.of_stretch : windows.count;
    while (++window < end) {
      const Operand *at_a = a + window * kStride, *at_b = b + window * kStride;
      const uint64_t bits = candidates(at_a, at_b, acc);
      if (bits != 0) return static_cast<int32_t>(window * kWindow) + first(bits);
    }
    return kNoWitness;
  }

  /// Returns a bit for each step of a window that is set if its candidate is `acc`.
  MPMML_HOST_DEVICE static uint64_t candidates(const Operand* a, const Operand* b, Accumulator acc) {
    const Vector<Accumulator> all = splat(acc);
    uint64_t bits = 0;
    MPMML_UNROLL
    for (int step = 0; step < kWindow; step += kLanes) {
      const Vector<Operand> x = load(a + step), y = load(b + step);
      bits |= equal_lanes<Operand>(candidate<Arithmetic>(x, y), all) << step;
    }
    return bits;
  }

  /// Returns the first k-step of a window whose bit is set.
  MPMML_HOST_DEVICE static int32_t first(uint64_t bits) { return __builtin_ctzll(bits | uint64_t{1} << (kWindow - 1)); }
};

}  // namespace mpmml::cpu::MPMML_ISA
