// From accumulators to C: decode, ⊕ C0, overflow, store with any strides. All families of the CPU pass their
// accumulators to this code, except the naive family, which stores by the definition (core/problem/definition.h).
// Compiled once for each instruction set (see vector.h).
#pragma once
#include "core/algebra/arithmetic.h"
#include "cpu/bits.h"
#include "cpu/kernel.h"
#include "cpu/vector.h"
#include "cpu/wide.h"

namespace mpmml::cpu::MPMML_ISA {

constexpr int kCacheLine = 64;

/// A hint that `bytes` bytes from `from` on will be read soon.
MPMML_INLINE void prefetch(const void* from, int64_t bytes) {
  for (int64_t byte = 0; byte < bytes; byte += kCacheLine) __builtin_prefetch(static_cast<const char*>(from) + byte);
}

/// Writes adjacent results, `kLanes` at a time. Used for arithmetics whose finish() compilers don't turn into vector
/// code. write() sets bits in `beyond` for results that overflowed.
template <class Arithmetic>
struct VectorEpilogue {
  static constexpr int kLanes = 0;
};

/// 64-bit sums.
template <class Arithmetic>
struct Int64Epilogue {
  using Element = typename Arithmetic::Element;
  using Accumulator = typename Arithmetic::Accumulator;
  using Sums = Vector<Accumulator>;
  using Elements = ShortVector<Element, VectorOf<Accumulator>::lanes>;
  static constexpr int kLanes = VectorOf<Element>::lanes;
  static_assert(kLanes == 2 * VectorOf<Accumulator>::lanes, "sums are twice as wide as results");

  MPMML_HOST_DEVICE static void write(const Accumulator* acc, const Element* c0, Element* c, Sums& beyond) {
    constexpr int n = kLanes / 2;
    Sums low = load(acc), high = load(acc + n);
    if (c0) {
      combine(low, c0);
      combine(high, c0 + n);
    }
    Vector<Element> results;
    narrow(results, Arithmetic::normalize(low, beyond), Arithmetic::normalize(high, beyond));
    store(c, results);
  }

 private:
  MPMML_HOST_DEVICE static void combine(Sums& sum, const Element* c0) {
    Elements previous;
    __builtin_memcpy(&previous, c0, sizeof previous);
    sum = Arithmetic::combine(sum, Arithmetic::encode_sum(__builtin_convertvector(previous, Sums)));
  }
};
template <class S>
struct VectorEpilogue<Wide<S>> : Int64Epilogue<Wide<S>> {};
template <class S>
struct VectorEpilogue<Wrapping<S>> : Int64Epilogue<Wrapping<S>> {};

/// Words of truth values.
template <class S>
struct VectorEpilogue<Bits<S>> {
  using Element = typename S::Element;
  using Word = typename Bits<S>::Operand;
  using Words = Vector<Word>;
  static constexpr int kWords = VectorOf<Word>::lanes;
  static constexpr int kLanes = kWords == 2 ? 4 : 8;

  MPMML_HOST_DEVICE static void write(const Word* acc, const Element* c0, Element* c, Words& /*beyond*/) {
    typedef int8_t Bytes __attribute__((vector_size(kLanes)));
    Bytes results;
    if constexpr (kWords == kLanes) {
      results = __builtin_convertvector(S::combine_across(load(acc)), Bytes) & 1;
    } else {
      // Without AVX-512 compilers split the conversion into single elements. This loop makes one byte of the results
      // from each word instead.
      Words all{};
      MPMML_UNROLL
      for (int first = 0; first < kLanes; first += kWords) {
        Words ones;
        for (int i = 0; i < kWords; ++i) ones[i] = Word{1} << 8 * (first + i);
        all |= S::combine_across(load(acc + first)) ? ones : Words{};
      }
      Word bytes = 0;
      for (int i = 0; i < kWords; ++i) bytes |= all[i];
      __builtin_memcpy(&results, &bytes, sizeof results);
    }
    if (c0) {
      Bytes previous;
      __builtin_memcpy(&previous, c0, sizeof previous);
      results = S::combine(results, Bytes((previous != 0) & 1));
    }
    __builtin_memcpy(c, &results, sizeof results);
  }
};

/// The results of a part of a product.
template <class Arithmetic>
class Epilogue {
  using S = typename Arithmetic::Semiring;
  using Element = typename Arithmetic::Element;
  using Accumulator = typename Arithmetic::Accumulator;
  static constexpr int kAtOnce = VectorEpilogue<Arithmetic>::kLanes;

 public:
  MPMML_HOST_DEVICE Epilogue(const Arithmetic& arithmetic, const Results& results)
      : arithmetic_(arithmetic), results_(results) {}

  /// A hint that MR × NR results from (row, col) on, of which `rows` rows exist, will be written soon.
  template <int MR, int NR>
  MPMML_HOST_DEVICE void prefetch_results(int64_t row, int64_t col, int64_t rows) const {
    if (!results_.c_is_far) return;
    const Element* c = at(row, col).c;
    for (int64_t i = 0; i < rows && i < MR; ++i) {
      prefetch(c + i * results_.c_row_stride, NR * sizeof(Element));
      // Rows rarely start at the start of a cache line.
      __builtin_prefetch(c + i * results_.c_row_stride + NR - 1);
    }
  }

  /// Writes the results from (row, col) on of a tile of MR × NR accumulators, of which rows × cols exist.
  template <int MR, int NR>
  __attribute__((noinline)) void store_tile(const Accumulator* tile, int64_t row, int64_t col, int64_t rows,
                                            int64_t cols) {
    bool overflowed = false;
    if (is_partial(row, col, rows, cols)) return store_part<NR>(tile, row, col, rows, cols);
    if constexpr (kAtOnce > 0) {
      if (rows == MR && cols == NR && are_adjacent()) {
        overflowed = store_whole_tile<MR, NR>(tile, row, col);
        if (!overflowed || index_of(row, col) > first_overflow_) return;
      }
    }
    for (int64_t i = 0; i < rows; ++i) store(tile + i * NR, row + i, col, cols, overflowed);
  }

  /// Writes `cols` results of a row.
  MPMML_HOST_DEVICE void store_row(const Accumulator* acc, int64_t row, int64_t col, int64_t cols) {
    const Span inside = results_inside(row, col, cols);
    if (!inside.is_empty()) store(acc + inside.first, row, col + inside.first, inside.end - inside.first, false);
  }

  /// Writes the witnesses of `cols` results of a row. Must be called before the results are written, because C0 may be
  /// C. `found` is the smallest k whose candidate equals the accumulator, and arbitrary if no candidate does.
  MPMML_HOST_DEVICE void store_witnesses(const Accumulator* acc, const int32_t* found, int64_t row, int64_t col,
                                         int64_t cols) const {
    if (results_.is_partial) return store_some_witnesses(acc, found, row, col, cols);
    write_witnesses(acc, found, row, col, cols);
  }

  /// The smallest linear index of a result that has overflowed so far, or kNoOverflow.
  MPMML_HOST_DEVICE int64_t first_overflow() const { return first_overflow_; }

 private:
  /// Addresses of a result and of the element of C0 that it is accumulated onto (null without C0).
  struct Place {
    const Element* c0;
    Element* c;
  };

  // Not inlined: inlining changes the code of the functions above for whole tiles.

  /// store_tile() for a tile of which some elements aren't results.
  template <int NR>
  __attribute__((noinline)) void store_part(const Accumulator* tile, int64_t row, int64_t col, int64_t rows,
                                            int64_t cols) {
    for (int64_t i = 0; i < rows; ++i) store_row(tile + i * NR, row + i, col, cols);
  }
  __attribute__((noinline)) void store_some_witnesses(const Accumulator* acc, const int32_t* found, int64_t row,
                                                      int64_t col, int64_t cols) const {
    const Span inside = results_inside(row, col, cols);
    if (inside.is_empty()) return;
    write_witnesses(acc + inside.first, found + inside.first, row, col + inside.first, inside.end - inside.first);
  }

  __attribute__((noinline)) void write_witnesses(const Accumulator* acc, const int32_t* found, int64_t row, int64_t col,
                                                 int64_t cols) const {
    const Witnesses& to = results_.witnesses;
    const Place place = at(row, col);
    int32_t* data = to.data + row * to.row_stride + col * to.col_stride;
    if (to.through) {
      const int32_t* through = to.through + row * to.through_row_stride + col * to.through_col_stride;
      for (int64_t j = 0; j < cols; ++j, data += to.col_stride, through += to.through_col_stride) {
        const Element c0 = c0_at(place, j);
        const int32_t k = witness(acc[j], c0, found[j], row, col + j);
        if (k != kNoWitness && !(result_of(c0) == result_of(acc[j], c0))) *data = through[k * to.through_k_stride];
      }
    } else if (to.col_stride == 1 && !place.c0) {
      for (int64_t j = 0; j < cols; ++j) data[j] = witness(acc[j], S::zero, found[j], row, col + j);
    } else {
      for (int64_t j = 0; j < cols; ++j)
        data[j * to.col_stride] = witness(acc[j], c0_at(place, j), found[j], row, col + j);
    }
  }

  MPMML_HOST_DEVICE Place at(int64_t row, int64_t col) const {
    const auto* c0 = static_cast<const Element*>(results_.c0);
    return {c0 ? c0 + row * results_.c0_row_stride + col * results_.c0_col_stride : nullptr,
            static_cast<Element*>(results_.c) + row * results_.c_row_stride + col * results_.c_col_stride};
  }
  /// Returns the range of results among `cols` elements of a row from (row, col) on.
  MPMML_HOST_DEVICE Span results_inside(int64_t row, int64_t col, int64_t cols) const {
    if (!results_.is_partial) return {0, cols};
    return results_.band.of_row(row).from(col).within({0, cols});
  }
  /// Returns whether some elements of a tile from (row, col) on aren't results.
  MPMML_HOST_DEVICE bool is_partial(int64_t row, int64_t col, int64_t rows, int64_t cols) const {
    return results_.is_partial && !results_.band.has_all({row, row + rows}, {col, col + cols});
  }
  MPMML_HOST_DEVICE int64_t index_of(int64_t row, int64_t col) const {
    return results_.first_index + row * results_.index_row_stride + col * results_.index_col_stride;
  }
  /// Returns whether the results of a row, and their elements of C0, are adjacent in memory.
  MPMML_HOST_DEVICE bool are_adjacent() const {
    return results_.c_col_stride == 1 && (!results_.c0 || results_.c0_col_stride == 1);
  }
  MPMML_HOST_DEVICE Element c0_at(const Place& to, int64_t j) const {
    return to.c0 ? to.c0[j * results_.c0_col_stride] : S::zero;
  }

  MPMML_HOST_DEVICE Element finish(Accumulator acc, Element c0, bool& overflowed) const {
    if constexpr (takes_offsets<Arithmetic>) {
      const Arithmetic with_offsets{results_.offset_a, results_.offset_b, arithmetic_.has_zero};
      return with_offsets.finish(acc, c0, overflowed);
    } else {
      return arithmetic_.finish(acc, c0, overflowed);
    }
  }

  /// C0 ⊕ acc as a result.
  MPMML_HOST_DEVICE Element result_of(Accumulator acc, Element c0) const {
    bool overflowed = false;
    return finish(acc, c0, overflowed);
  }
  /// Returns c0 ⊕ zero as a result.
  MPMML_HOST_DEVICE Element result_of(Element c0) const {
    if constexpr (S::can_overflow) {
      return c0;
    } else {
      return result_of(Arithmetic::initial(), c0);
    }
  }

  /// Returns `found` if a candidate equals the result and the result isn't zero.
  MPMML_HOST_DEVICE int32_t witness(Accumulator acc, Element c0, int32_t found, int64_t row, int64_t col) const {
    bool overflowed = false;
    const Element best = finish(acc, S::zero, overflowed), result = result_of(acc, c0);
    if constexpr (Arithmetic::paths.has(ArithmeticKind::kWide)) {
      const Problem& problem = *results_.witnesses.problem;
      if (problem.operation.overflow == OverflowPolicy::kSaturate &&
          (result == FiniteRange<S>::least || result == FiniteRange<S>::most)) {
        // Other candidates may be stored as the same result.
        return results_.witnesses.define(problem, index_of(row, col), result);
      }
      if (overflowed) return kNoWitness;
    }
    return best == result && best != S::zero ? found : kNoWitness;
  }

  template <int MR, int NR>
  MPMML_HOST_DEVICE bool store_whole_tile(const Accumulator* tile, int64_t row, int64_t col) const {
    Vector<Accumulator> beyond = {};
    MPMML_UNROLL
    for (int i = 0; i < MR; ++i) {
      const Place to = at(row + i, col);
      MPMML_UNROLL
      for (int j = 0; j < NR; j += kAtOnce) {
        VectorEpilogue<Arithmetic>::write(tile + i * NR + j, to.c0 ? to.c0 + j : nullptr, to.c + j, beyond);
      }
    }
    return any(beyond);
  }

  /// Writes a row and records the index of its first overflowed result. If `overflowed`, the row has been written
  /// already, and some of its results overflowed.
  MPMML_HOST_DEVICE void store(const Accumulator* acc, int64_t row, int64_t col, int64_t cols, bool overflowed) {
    const Place to = at(row, col);
    if (!(overflowed || write_row(acc, to, cols)) || index_of(row, col) > first_overflow_) return;
    for (int64_t j = 0; j < cols; ++j) {
      bool beyond = false;
      finish(acc[j], c0_at(to, j), beyond);
      if (!beyond) continue;
      const int64_t index = index_of(row, col + j);
      if (index < first_overflow_) first_overflow_ = index;
      return;
    }
  }

  /// Returns whether a result overflowed.
  MPMML_HOST_DEVICE bool write_row(const Accumulator* acc, const Place& to, int64_t cols) const {
    bool overflowed = false;
    if constexpr (kAtOnce > 0) {
      Vector<Accumulator> beyond = {};
      int64_t j = 0;
      for (; are_adjacent() && j + kAtOnce <= cols; j += kAtOnce) {
        VectorEpilogue<Arithmetic>::write(acc + j, to.c0 ? to.c0 + j : nullptr, to.c + j, beyond);
      }
      overflowed = any(beyond);
      for (; j < cols; ++j) to.c[j * results_.c_col_stride] = finish(acc[j], c0_at(to, j), overflowed);
      return overflowed;
    }
    if (results_.c_col_stride == 1 && !to.c0) {
      for (int64_t j = 0; j < cols; ++j) to.c[j] = finish(acc[j], S::zero, overflowed);
    } else if (results_.c_col_stride == 1 && results_.c0_col_stride == 1) {
      for (int64_t j = 0; j < cols; ++j) to.c[j] = finish(acc[j], to.c0[j], overflowed);
    } else {
      for (int64_t j = 0; j < cols; ++j) {
        to.c[j * results_.c_col_stride] = finish(acc[j], c0_at(to, j), overflowed);
      }
    }
    return overflowed;
  }

  const Arithmetic arithmetic_;
  const Results results_;
  int64_t first_overflow_ = kNoOverflow;
};

}  // namespace mpmml::cpu::MPMML_ISA
