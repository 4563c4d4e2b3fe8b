// The micro-kernel, and the block of C that it is run over.
#pragma once
#include "core/arithmetic.h"
#include "cpu/kernel.h"
#include "cpu/offset.h"
#include "cpu/vector.h"
#include "cpu/wide.h"

namespace mpmml::cpu::MPMML_ISA {

/// k-steps in one round of the micro-kernel's loop; panels are padded to a multiple of it with border elements.
constexpr int kStepsAtOnce = 4;
constexpr int kCacheLine = 64;

/// Calls `body` with the arithmetic for `path`, worked out by the compiler.
template <class Arithmetic, class... Others, class Body>
MPMML_INLINE void with_arithmetic(RangePath path, Body body) {
  if constexpr (sizeof...(Others) > 0) {
    if (!Arithmetic::paths.has(path)) return with_arithmetic<Others...>(path, body);
  }
  constexpr Arithmetic plain =
      Arithmetic::for_operands(Arithmetic::paths.has(RangePath::kHalf) ? RangePath::kHalf : RangePath::kDirect);
  constexpr Arithmetic translated = Arithmetic::for_operands(
      Arithmetic::paths.has(RangePath::kHalf) ? RangePath::kHalfTranslated : RangePath::kTranslated);
  body(path == RangePath::kDirect || path == RangePath::kHalf ? plain : translated);
}

/// Whether the additions of max-plus and min-plus on floating-point numbers are made by fused multiply-adds, x · 1 + y,
/// which rounds as x + y does. Zen's pipes for additions are those for maxima, and those for multiply-adds are others: 1.5
/// times as many steps (EPYC 9004, 8 to 16 lanes). Intel's are the same for all three.
template <class S>
#if defined(__FMA__) || defined(__AVX512F__)
constexpr bool kAddsByMultiply = S::idempotent && std::is_floating_point_v<typename S::Element>;
#else
constexpr bool kAddsByMultiply = false;
#endif

/// acc ⊕ (a ⊗ b); `one` is 1, unknown to the compiler.
template <class Arithmetic, class V>
MPMML_INLINE V step(V acc, V a, V b, V one) {
  using S = typename Arithmetic::Semiring;
  if constexpr (kAddsByMultiply<S>) {
    return S::combine(acc, a * one + b);
  } else {
    return Arithmetic::accumulate(acc, a, b);
  }
}

/// tile ⊕= panel of A ⊗ panel of B over `k` steps; `tile` is MR × NR, and starts from `initial` where `starts`.
/// A function of its own: together with what finishes the results the compiler runs out of registers.
template <class Arithmetic, int MR, int NR>
static __attribute__((noinline)) void multiply_tile(const typename Arithmetic::Operand* __restrict a,
                                                    const typename Arithmetic::Operand* __restrict b, int64_t k,
                                                    typename Arithmetic::Accumulator* __restrict tile, bool starts,
                                                    typename Arithmetic::Accumulator initial) {
  using T = typename Arithmetic::Operand;
  constexpr int lanes = VectorOf<T>::lanes;
  static_assert(NR % lanes == 0, "a tile's row is made of whole vectors");
  constexpr int NV = NR / lanes;
  Vector<T> acc[MR][NV];
  MPMML_UNROLL
  for (int i = 0; i < MR; ++i) {
    MPMML_UNROLL
    for (int j = 0; j < NV; ++j) acc[i][j] = starts ? splat(initial) : load(tile + i * NR + j * lanes);
  }
  Vector<T> one = splat(T{1});
  if constexpr (kAddsByMultiply<typename Arithmetic::Semiring>) MPMML_OPAQUE(one);
  for (; k > 0; k -= kStepsAtOnce) {
    MPMML_UNROLL
    for (int ahead = 0; ahead < kStepsAtOnce; ++ahead) {
      Vector<T> row[NV];
      MPMML_UNROLL
      for (int j = 0; j < NV; ++j) row[j] = load(b + ahead * NR + j * lanes);
      MPMML_UNROLL
      for (int i = 0; i < MR; ++i) {
        Vector<T> element = splat(a[ahead * MR + i]);
        MPMML_OPAQUE(element);
        MPMML_UNROLL
        for (int j = 0; j < NV; ++j) {
          acc[i][j] = step<Arithmetic>(acc[i][j], element, row[j], one);
          MPMML_OPAQUE(acc[i][j]);
        }
      }
      MPMML_FENCE();
    }
    a += kStepsAtOnce * MR;
    b += kStepsAtOnce * NR;
  }
  MPMML_UNROLL
  for (int i = 0; i < MR; ++i) {
    MPMML_UNROLL
    for (int j = 0; j < NV; ++j) store(tile + i * NR + j * lanes, acc[i][j]);
  }
}

/// A row of results: where it goes, what it is accumulated onto (c0 is null where nothing is), and the operands'
/// offsets, for arithmetics that take them.
template <class Element>
struct Results {
  int64_t cols;
  const Element* c0;
  int64_t c0_col_stride;
  Element* c;
  int64_t c_col_stride;
  int32_t offset_a;
  int32_t offset_b;

  /// Whether what is read and written lies side by side.
  MPMML_HOST_DEVICE bool are_adjacent() const { return c_col_stride == 1 && (!c0 || c0_col_stride == 1); }
  MPMML_HOST_DEVICE Element c0_at(int64_t j, Element zero) const { return c0 ? c0[j * c0_col_stride] : zero; }
};

template <class Arithmetic, class Element = typename Arithmetic::Element>
MPMML_INLINE Element finish(const Arithmetic& arithmetic, typename Arithmetic::Accumulator acc, Element c0,
                            bool& overflowed, const Results<Element>& to) {
  if constexpr (takes_offsets<Arithmetic>) {
    return arithmetic.finish(acc, c0, overflowed, to.offset_a, to.offset_b);
  } else {
    return arithmetic.finish(acc, c0, overflowed);
  }
}

/// Sums, of an arithmetic that settles them on vectors, for as many results as one vector holds.
template <class Arithmetic>
struct Settled {
  using Element = typename Arithmetic::Element;
  using Accumulator = typename Arithmetic::Accumulator;
  using Sums = Vector<Accumulator>;
  using Elements = ShortVector<Element, VectorOf<Accumulator>::lanes>;
  static constexpr int kLanes = VectorOf<Element>::lanes;
  static_assert(kLanes == 2 * VectorOf<Accumulator>::lanes, "sums are twice as wide as results");

  /// Writes kLanes results, adjacent in memory; bits are set in `beyond` where one overflowed.
  MPMML_HOST_DEVICE static void write(const Accumulator* acc, const Element* c0, Element* c, Sums& beyond) {
    constexpr int n = kLanes / 2;
    Sums low = load(acc), high = load(acc + n);
    if (c0) {
      combine(low, c0);
      combine(high, c0 + n);
    }
    Vector<Element> results;
    narrow(results, Arithmetic::settle(low, beyond), Arithmetic::settle(high, beyond));
    store(c, results);
  }

 private:
  MPMML_HOST_DEVICE static void combine(Sums& sum, const Element* c0) {
    Elements previous;
    __builtin_memcpy(&previous, c0, sizeof previous);
    sum = Arithmetic::combine(sum, Arithmetic::encode_sum(__builtin_convertvector(previous, Sums)));
  }
};

/// Writes one row of results; returns whether one of them overflowed.
template <class Arithmetic, class Element = typename Arithmetic::Element>
MPMML_INLINE bool finish_row(const Arithmetic& arithmetic, const typename Arithmetic::Accumulator* acc,
                             const Results<Element>& to) {
  constexpr Element zero = Arithmetic::Semiring::zero;
  bool overflowed = false;
  if constexpr (is_biased<Arithmetic>) {
    constexpr int n = Settled<Arithmetic>::kLanes;
    Vector<typename Arithmetic::Accumulator> beyond = {};
    int64_t j = 0;
    for (; to.are_adjacent() && j + n <= to.cols; j += n) {
      Settled<Arithmetic>::write(acc + j, to.c0 ? to.c0 + j : nullptr, to.c + j, beyond);
    }
    overflowed = any(beyond);
    for (; j < to.cols; ++j) {
      to.c[j * to.c_col_stride] = finish(arithmetic, acc[j], to.c0_at(j, zero), overflowed, to);
    }
    return overflowed;
  }
  if (to.c_col_stride == 1 && !to.c0) {
    for (int64_t j = 0; j < to.cols; ++j) to.c[j] = finish(arithmetic, acc[j], zero, overflowed, to);
  } else if (to.c_col_stride == 1 && to.c0_col_stride == 1) {
    for (int64_t j = 0; j < to.cols; ++j) to.c[j] = finish(arithmetic, acc[j], to.c0[j], overflowed, to);
  } else {
    for (int64_t j = 0; j < to.cols; ++j) {
      to.c[j * to.c_col_stride] = finish(arithmetic, acc[j], to.c0_at(j, zero), overflowed, to);
    }
  }
  return overflowed;
}

/// The first column of a row whose result overflows, or -1.
template <class Arithmetic, class Element = typename Arithmetic::Element>
MPMML_INLINE int64_t find_overflow(const Arithmetic& arithmetic, const typename Arithmetic::Accumulator* acc,
                                   const Results<Element>& to) {
  for (int64_t j = 0; j < to.cols; ++j) {
    bool overflowed = false;
    finish(arithmetic, acc[j], to.c0_at(j, Arithmetic::Semiring::zero), overflowed, to);
    if (overflowed) return j;
  }
  return -1;
}

/// Writes a whole tile of MR × NR in vectors; `results_of` tells where the results of a row go. Returns whether one of them
/// overflowed.
template <class Arithmetic, int MR, int NR, class ResultsOf>
MPMML_INLINE bool settle_tile(const typename Arithmetic::Accumulator* tile, ResultsOf results_of) {
  Vector<typename Arithmetic::Accumulator> beyond = {};
  MPMML_UNROLL
  for (int i = 0; i < MR; ++i) {
    const auto to = results_of(i);
    MPMML_UNROLL
    for (int j = 0; j < NR; j += Settled<Arithmetic>::kLanes) {
      Settled<Arithmetic>::write(tile + i * NR + j, to.c0 ? to.c0 + j : nullptr, to.c + j, beyond);
    }
  }
  return any(beyond);
}

/// Hints that `bytes` from `from` on are read soon.
MPMML_INLINE void prefetch(const void* from, int64_t bytes) {
  for (int64_t byte = 0; byte < bytes; byte += kCacheLine) __builtin_prefetch(static_cast<const char*>(from) + byte);
}

/// Hints that a tile's results are written soon.
template <int MR, int NR, class Element>
MPMML_INLINE void prefetch_results(const BlockRequest& block, int64_t row, int64_t col) {
  const int64_t rows = block.rows - row < MR ? block.rows - row : MR;
  const auto* c = static_cast<const Element*>(block.c) + row * block.c_row_stride + col * block.c_col_stride;
  for (int64_t i = 0; i < rows; ++i) {
    prefetch(c + i * block.c_row_stride, NR * sizeof(Element));
    // Rows rarely start where a line does.
    __builtin_prefetch(c + i * block.c_row_stride + NR - 1);
  }
}

template <int MR, int NR, class Arithmetic>
MPMML_INLINE int64_t multiply_block(const Arithmetic& arithmetic, const BlockRequest& block) {
  using Element = typename Arithmetic::Element;
  using Operand = typename Arithmetic::Operand;
  using Accumulator = typename Arithmetic::Accumulator;
  alignas(kVectorBytes) Accumulator local[MR * NR];
  const int64_t row_panels = (block.rows + MR - 1) / MR;
  int64_t first_overflow = kNoOverflow;
  for (int64_t col = 0; col < block.cols; col += NR) {
    const auto* b = static_cast<const Operand*>(block.b) + col * block.steps;
    for (int64_t row = 0; row < block.rows; row += MR) {
      const auto* a = static_cast<const Operand*>(block.a) + row * block.steps;
      Accumulator* tile = local;
      if (block.accumulators) {
        tile = static_cast<Accumulator*>(block.accumulators) + (col / NR * row_panels + row / MR) * MR * NR;
      }
      // Hardware prefetchers stop at the end of a page, which is about where a panel ends: fetch the next one's start.
      prefetch(a + MR * block.steps, 4 * kCacheLine);
      if (block.ends && block.c_is_far) prefetch_results<MR, NR, Element>(block, row, col);
      multiply_tile<Arithmetic, MR, NR>(a, b, block.steps, tile, block.starts, arithmetic.initial());
      if (!block.ends) continue;
      const int64_t rows = block.rows - row < MR ? block.rows - row : MR;
      const int64_t cols = block.cols - col < NR ? block.cols - col : NR;
      const auto* c0 = static_cast<const Element*>(block.c0);
      auto* c = static_cast<Element*>(block.c);
      const auto results_of = [&](int64_t i) __attribute__((always_inline)) -> Results<Element> {
        return {cols,
                c0 ? c0 + (row + i) * block.c0_row_stride + col * block.c0_col_stride : nullptr,
                block.c0_col_stride,
                c + (row + i) * block.c_row_stride + col * block.c_col_stride,
                block.c_col_stride,
                block.offset_a,
                block.offset_b};
      };
      bool overflowed = false;
      if constexpr (is_biased<Arithmetic>) {
        if (rows == MR && cols == NR && results_of(0).are_adjacent()) {
          overflowed = settle_tile<Arithmetic, MR, NR>(tile, results_of);
          if (!overflowed || row * block.cols + col > first_overflow) continue;
        }
      }
      for (int64_t i = 0; i < rows; ++i) {
        const Accumulator* acc = tile + i * NR;
        const Results<Element> to = results_of(i);
        const int64_t first = (row + i) * block.cols + col;
        if (!(overflowed || finish_row(arithmetic, acc, to)) || first > first_overflow) continue;
        const int64_t found = find_overflow(arithmetic, acc, to);
        if (found >= 0 && first + found < first_overflow) first_overflow = first + found;
      }
    }
  }
  return first_overflow;
}

}  // namespace mpmml::cpu::MPMML_ISA
