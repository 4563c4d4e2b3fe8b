// The micro-kernel, and the loop that runs it over a block of C.
#pragma once
#include "core/arithmetic.h"
#include "cpu/epilogue.h"
#include "cpu/kernel.h"
#include "cpu/vector.h"
#include "cpu/windows.h"

namespace mpmml::cpu::MPMML_ISA {

/// Steps in one round of the micro-kernel's loop. Panels are padded to a multiple of it with border elements.
constexpr int kStepsAtOnce = 4;

/// Calls `body` with the arithmetic for `path`, which is known to the compiler.
template <class Arithmetic, class... Others, class Body>
MPMML_INLINE void with_arithmetic(RangePath path, Body body) {
  if constexpr (sizeof...(Others) > 0) {
    if (!Arithmetic::paths.has(path)) return with_arithmetic<Others...>(path, body);
  }
  constexpr auto paths = [] {
    if constexpr (takes_offsets<Arithmetic>) return std::pair{Arithmetic::kWithoutZero, Arithmetic::kWithZero};
    return std::pair{RangePath::kDirect, RangePath::kTranslated};
  }();
  constexpr Arithmetic plain = Arithmetic::for_operands(paths.first);
  constexpr Arithmetic translated = Arithmetic::for_operands(paths.second);
  body(path == paths.first ? plain : translated);
}

/// Whether floating-point max-plus and min-plus add with fused multiply-adds: x · 1 + y, which rounds as x + y does. On
/// Zen additions use the same pipes as maxima, but multiply-adds have others: 1.5 times as many steps (EPYC 9004, 8 to
/// 16 lanes). On Intel all three use the same pipes.
template <class S>
#if defined(__FMA__) || defined(__AVX512F__)
constexpr bool kAddsByMultiply =
    S::idempotent && S::extend_kind == OperatorKind::kSum && std::is_floating_point_v<typename S::Element>;
#else
constexpr bool kAddsByMultiply = false;
#endif

/// acc ⊕ (a ⊗ b). `one` is 1, but the compiler doesn't know it.
template <class Arithmetic, class V>
MPMML_INLINE V step(V acc, V a, V b, V one) {
  using S = typename Arithmetic::Semiring;
  if constexpr (kAddsByMultiply<S>) {
    return S::combine(acc, a * one + b);
  } else {
    return Arithmetic::accumulate(acc, a, b);
  }
}

/// Where a tile's accumulators are noted in stretches of k-steps (WindowsOfBlock).
template <class Accumulator>
struct Notes {
  NoteOf<Accumulator>* data;
  int64_t stretch;  ///< the number of the first one
  int64_t steps;    ///< of a stretch
};
/// In its place if nothing is noted.
struct Nowhere {};

/// Notes where a tile has become better since it was stored. `starts`: nothing has been noted yet.
template <class Arithmetic, int MR, int NR, int NV>
MPMML_INLINE void note_better(const Vector<typename Arithmetic::Operand> (&acc)[MR][NV],
                              const typename Arithmetic::Accumulator* tile,
                              NoteOf<typename Arithmetic::Accumulator>* notes, int64_t stretch, bool starts) {
  using Note = NoteOf<typename Arithmetic::Accumulator>;
  const Vector<Note> number = splat(static_cast<Note>(stretch));
  MPMML_UNROLL
  for (int i = 0; i < MR; ++i) {
    MPMML_UNROLL
    for (int j = 0; j < NV; ++j) {
      const int place = i * NR + j * VectorOf<Note>::lanes;
      if (starts) {
        store(notes + place, number);
      } else {
        store(notes + place, acc[i][j] != load(tile + place) ? number : load(notes + place));
      }
    }
  }
}

/// acc ⊕= panel of A ⊗ panel of B over `k` steps.
template <class Arithmetic, int MR, int NV>
MPMML_INLINE void multiply_steps(Vector<typename Arithmetic::Operand> (&acc)[MR][NV],
                                 const Broadcast<typename Arithmetic::Operand>* __restrict a,
                                 const typename Arithmetic::Operand* __restrict b, int64_t k) {
  using T = typename Arithmetic::Operand;
  constexpr int lanes = VectorOf<T>::lanes, NR = NV * lanes;
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
        auto element = (Vector<T>)splat(a[ahead * MR + i]);
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
}

/// tile ⊕= panel of A ⊗ panel of B over `k` steps. `tile` is MR × NR, and starts from `initial` if `starts`. If `notes` is
/// of type Notes, stretches are noted.
/// Not inlined, because together with the code that finishes results the compiler runs out of registers.
template <class Arithmetic, int MR, int NR, class MaybeNotes>
static __attribute__((noinline)) void multiply_tile(const Broadcast<typename Arithmetic::Operand>* __restrict a,
                                                    const typename Arithmetic::Operand* __restrict b, int64_t k,
                                                    typename Arithmetic::Accumulator* __restrict tile, bool starts,
                                                    typename Arithmetic::Accumulator initial, MaybeNotes notes) {
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
  const auto store_all = [&]() __attribute__((always_inline)) {
    MPMML_UNROLL
    for (int i = 0; i < MR; ++i) {
      MPMML_UNROLL
      for (int j = 0; j < NV; ++j) store(tile + i * NR + j * lanes, acc[i][j]);
    }
  };
  if constexpr (std::is_same_v<MaybeNotes, Nowhere>) {
    multiply_steps<Arithmetic>(acc, a, b, k);
    store_all();
  } else {
    for (int64_t first = 0; first < k; first += notes.steps) {
      const int64_t steps = k - first < notes.steps ? k - first : notes.steps;
      multiply_steps<Arithmetic>(acc, a + first * MR, b + first * NR, steps);
      note_better<Arithmetic, MR, NR>(acc, tile, notes.data, notes.stretch++, starts);
      store_all();
      starts = false;
    }
  }
}

template <int MR, int NR>
MPMML_INLINE TileOfBlock tile_of(const BlockRequest& block, int64_t row, int64_t col) {
  return {row, col, block.rows - row < MR ? block.rows - row : MR, block.cols - col < NR ? block.cols - col : NR};
}

/// Writes the results of a block whose witnesses are found with notes, row by row: so the windows of few rows of A are
/// used at a time, and if they are near, those of all columns of B stay in the second-level cache.
template <int MR, int NR, class Arithmetic>
static __attribute__((noinline)) void store_noted(const BlockRequest& block, Epilogue<Arithmetic>& epilogue) {
  using Accumulator = typename Arithmetic::Accumulator;
  const auto* const accumulators = static_cast<const Accumulator*>(block.accumulators);
  const auto* const notes = static_cast<const NoteOf<Accumulator>*>(block.windows.notes);
  const int64_t row_panels = ceil_div(block.rows, MR);
  if (block.windows.are_near) Windows<Arithmetic>::fetch_b(block.windows, block.cols);
  for (int64_t row = 0; row < block.rows; row += MR) {
    if (block.windows.are_near) Windows<Arithmetic>::fetch_a(block.windows, row, tile_of<MR, NR>(block, row, 0).rows);
    for (int64_t col = 0; col < block.cols; col += NR) {
      const int64_t place = (col / NR * row_panels + row / MR) * MR * NR;
      const TileOfBlock of = tile_of<MR, NR>(block, row, col);
      Windows<Arithmetic>::template find<NR>(block.windows, of, accumulators + place, notes + place, epilogue);
      epilogue.template store_tile<MR, NR>(accumulators + place, row, col, of.rows, of.cols);
    }
  }
}

template <int MR, int NR, class Arithmetic>
MPMML_INLINE int64_t multiply_block(const Arithmetic& arithmetic, const BlockRequest& block) {
  using Operand = typename Arithmetic::Operand;
  using Accumulator = typename Arithmetic::Accumulator;
  alignas(kVectorBytes) Accumulator local[MR * NR];
  const int64_t row_panels = ceil_div(block.rows, MR);
  auto* const notes = static_cast<NoteOf<Accumulator>*>(block.windows.notes);
  Epilogue<Arithmetic> epilogue(arithmetic, block.results);
  for (int64_t col = 0; col < block.cols; col += NR) {
    const auto* b = static_cast<const Operand*>(block.b) + col * block.steps;
    for (int64_t row = 0; row < block.rows; row += MR) {
      const auto* a = static_cast<const Broadcast<Operand>*>(block.a) + row * block.steps;
      const int64_t place = (col / NR * row_panels + row / MR) * MR * NR;
      Accumulator* tile = block.accumulators ? static_cast<Accumulator*>(block.accumulators) + place : local;
      // Hardware prefetchers stop at the end of a page, which is about where a panel ends. So the start of the next
      // panel is prefetched here.
      prefetch(a + MR * block.steps, 4 * kCacheLine);
      const TileOfBlock of = tile_of<MR, NR>(block, row, col);
      if (block.ends) epilogue.template prefetch_results<MR, NR>(row, col, of.rows);
      if constexpr (has_windows<Arithmetic>) {
        if (notes) {
          const int64_t steps = Windows<Arithmetic>::kWindow * block.windows.of_stretch;
          multiply_tile<Arithmetic, MR, NR>(a, b, block.steps, tile, block.starts, arithmetic.initial(),
                                            Notes<Accumulator>{notes + place, block.stretch, steps});
          continue;
        }
      }
      multiply_tile<Arithmetic, MR, NR>(a, b, block.steps, tile, block.starts, arithmetic.initial(), Nowhere{});
      if (!block.ends) continue;
      if constexpr (has_windows<Arithmetic>) {
        if (block.windows.a) Windows<Arithmetic>::template find<NR>(block.windows, of, tile, nullptr, epilogue);
      }
      epilogue.template store_tile<MR, NR>(tile, row, col, of.rows, of.cols);
    }
  }
  if constexpr (has_windows<Arithmetic>) {
    if (block.ends && notes) store_noted<MR, NR>(block, epilogue);
  }
  return epilogue.first_overflow();
}

}  // namespace mpmml::cpu::MPMML_ISA
