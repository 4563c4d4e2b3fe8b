// The micro-kernel, and the loop that runs it over a block of C.
#pragma once
#include "core/algebra/arithmetic.h"
#include "cpu/epilogue.h"
#include "cpu/kernel.h"
#include "cpu/vector.h"
#include "cpu/witness_windows.h"

namespace mpmml::cpu::MPMML_ISA {

/// Steps in one round of the micro-kernel's loop. Panels are padded to a multiple of it with border elements. On
/// WebAssembly neither MPMML_OPAQUE nor MPMML_FENCE separates the steps of a round, and the loads of several steps
/// don't fit the registers.
#if defined(__wasm__)
constexpr int kStepsAtOnce = 1;
#else
constexpr int kStepsAtOnce = 4;
#endif

/// Calls `body` with the arithmetic for `path` as a compile-time type.
template <class Arithmetic, class... Others, class Body>
MPMML_INLINE void with_arithmetic(ArithmeticKind path, Body body) {
  if constexpr (sizeof...(Others) > 0) {
    if (!Arithmetic::paths.has(path)) return with_arithmetic<Others...>(path, body);
  }
  constexpr auto paths = [] {
    if constexpr (takes_offsets<Arithmetic>) return std::pair{Arithmetic::kWithoutZero, Arithmetic::kWithZero};
    return std::pair{ArithmeticKind::kDirect, ArithmeticKind::kTranslated};
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

/// acc ⊕ (a ⊗ b). `one` is 1, hidden from the compiler.
template <class Arithmetic, class V>
MPMML_INLINE V step(V acc, V a, V b, V one) {
  using S = typename Arithmetic::Semiring;
  if constexpr (kAddsByMultiply<S>) {
    return S::combine(acc, a * one + b);
  } else {
    return Arithmetic::accumulate(acc, a, b);
  }
}

/// Notes of a tile's accumulators: numbers of stretches of k-steps (WindowsOfBlock).
template <class Accumulator>
struct Notes {
  NoteOf<Accumulator>* data;
  int64_t stretch;  ///< the number of the first one
  int64_t steps;    ///< of a stretch
};
/// Replaces Notes for tiles without notes.
struct NoNotes {};

/// Records the current stretch for the accumulators that have improved since the tile was stored. With `starts` there
/// are no notes yet.
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
#if defined(__wasm__)
      // The whole column is copied, so that the offsets of elements are part of the loads. For wrapping sums the
      // compiler would compute the address of each subscripted element.
      Broadcast<T> column[MR];
      __builtin_memcpy(column, a + ahead * MR, sizeof column);
#else
      const Broadcast<T>* const column = a + ahead * MR;
#endif
      MPMML_UNROLL
      for (int i = 0; i < MR; ++i) {
        auto element = (Vector<T>)splat(column[i]);
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

/// tile ⊕= panel of A ⊗ panel of B over `k` steps. `tile` is MR × NR, and starts from `initial` if `starts`. If `notes`
/// is of type Notes, stretches are recorded. Not inlined, because together with the code that finishes results the
/// compiler runs out of registers.
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
  if constexpr (std::is_same_v<MaybeNotes, NoNotes>) {
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

/// The steps of a slab, in operands from its first one on, that a tile of a structured product has.
template <class Arithmetic>
static __attribute__((noinline)) Span needed_steps(const BlockRequest& block, const TileOfBlock& of) {
  const Span steps = block.structure.steps({of.row, of.row + of.rows}, {of.col, of.col + of.cols}, block.k);
  if (steps.is_empty()) return {0, 0};
  const int64_t k_alignment = block.k_alignment * steps_per_operand<Arithmetic>, per = steps_per_operand<Arithmetic>;
  const int64_t first = steps.first / k_alignment * k_alignment / per - block.first_step;
  const int64_t end = round_up(steps.end, k_alignment) / per - block.first_step;
  const Span part{first > 0 ? first : 0, end < block.steps ? end : block.steps};
  return part.is_empty() ? Span{0, 0} : part;
}

/// Returns the steps of a tile for any product.
template <class Arithmetic>
MPMML_INLINE Span steps_of_tile(const BlockRequest& block, const TileOfBlock& of) {
  return block.is_structured ? needed_steps<Arithmetic>(block, of) : Span{0, block.steps};
}

/// Returns whether a tile has no result.
MPMML_INLINE bool is_outside(const BlockRequest& block, const TileOfBlock& of) {
  return block.is_structured && !block.structure.c.has_some({of.row, of.row + of.rows}, {of.col, of.col + of.cols});
}

/// tile ⊕= panel of A ⊗ panel of B over some steps of a slab, for a semiring whose zero doesn't absorb all values: a
/// step with an element outside of its operand is skipped, regardless of the other element.
template <class Arithmetic, int MR, int NR>
static __attribute__((noinline)) void multiply_edges(const BlockRequest& block, const TileOfBlock& of, Span part,
                                                     const Broadcast<typename Arithmetic::Operand>* a,
                                                     const typename Arithmetic::Operand* b,
                                                     typename Arithmetic::Accumulator* tile) {
  using Operand = typename Arithmetic::Operand;
  for (int64_t step = part.first; step < part.end; ++step) {
    const int64_t k = block.first_step + step;
    for (int64_t i = 0; i < of.rows && k < block.k; ++i) {
      if (!block.structure.a.has(of.row + i, k)) continue;
      Operand element;
      __builtin_memcpy(&element, a + step * MR + i, sizeof element);
      for (int64_t j = 0; j < of.cols; ++j) {
        if (!block.structure.b.has(k, of.col + j)) continue;
        tile[i * NR + j] = Arithmetic::accumulate(tile[i * NR + j], element, b[step * NR + j]);
      }
    }
  }
}

/// Returns the steps of a tile at which all elements belong to the operands, in whole rounds of the micro-kernel's
/// loop.
MPMML_INLINE Span whole_steps(const BlockRequest& block, const TileOfBlock& of, Span part) {
  const Span whole = block.structure.steps_of_all({of.row, of.row + of.rows}, {of.col, of.col + of.cols})
                         .from(block.first_step)
                         .within(part);
  const int64_t first = round_up(whole.first, kStepsAtOnce), end = whole.end / kStepsAtOnce * kStepsAtOnce;
  return end > first ? Span{first, end} : Span{part.end, part.end};
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
      if (is_outside(block, of)) continue;
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
      // Hardware prefetchers stop at the end of a page, which is about where a panel ends. So the kernel prefetches the
      // start of the next panel.
      prefetch(a + MR * block.steps, 4 * kCacheLine);
      const TileOfBlock of = tile_of<MR, NR>(block, row, col);
      if (is_outside(block, of)) continue;
      const Span part = steps_of_tile<Arithmetic>(block, of);
      const int64_t steps = part.end - part.first;
      const auto* a_part = a + part.first * MR;
      const auto* b_part = b + part.first * NR;
      if (block.ends) epilogue.template prefetch_results<MR, NR>(row, col, of.rows);
      if constexpr (has_windows<Arithmetic>) {
        if (notes) {
          const int64_t of_stretch = Windows<Arithmetic>::kWindow * block.windows.of_stretch;
          const int64_t stretch = block.stretch + part.first / of_stretch;
          if (steps > 0) {
            multiply_tile<Arithmetic, MR, NR>(a_part, b_part, steps, tile, block.starts, arithmetic.initial(),
                                              Notes<Accumulator>{notes + place, stretch, of_stretch});
          } else if (block.starts) {
            multiply_tile<Arithmetic, MR, NR>(a_part, b_part, 0, tile, true, arithmetic.initial(), NoNotes{});
            for (int i = 0; i < MR * NR; ++i) notes[place + i] = static_cast<NoteOf<Accumulator>>(stretch);
          }
          continue;
        }
      }
      if constexpr (Arithmetic::Semiring::adds_floats) {
        if (block.is_structured) {
          const Span whole = whole_steps(block, of, part);
          multiply_tile<Arithmetic, MR, NR>(a + whole.first * MR, b + whole.first * NR, whole.end - whole.first, tile,
                                            block.starts, arithmetic.initial(), NoNotes{});
          multiply_edges<Arithmetic, MR, NR>(block, of, {part.first, whole.first}, a, b, tile);
          multiply_edges<Arithmetic, MR, NR>(block, of, {whole.end, part.end}, a, b, tile);
        } else {
          multiply_tile<Arithmetic, MR, NR>(a, b, block.steps, tile, block.starts, arithmetic.initial(), NoNotes{});
        }
      } else {
        multiply_tile<Arithmetic, MR, NR>(a_part, b_part, steps, tile, block.starts, arithmetic.initial(), NoNotes{});
      }
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
