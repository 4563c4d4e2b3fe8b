// The loops of rna_kernels.h for one instruction set and one type of scores.
#pragma once
#include <algorithm>

#include "cpu/rna_kernels.h"
#include "cpu/vector.h"

namespace mpmml::cpu::MPMML_ISA {

template <class Score>
struct Rna {
  using V = Vector<Score>;
  static constexpr int kLanes = VectorOf<Score>::lanes;
  static constexpr int64_t kBlock = Triangle::kBlock;
  static constexpr int kBlockVectors = kBlock / kLanes;
  static constexpr Score kNone = kNoInterval<Score>;

  /// Vectors of a row of a tile of C. A tile of 4 rows and one row of B stay in registers, of which AVX-512 and NEON
  /// have 32.
#if defined(__AVX512F__) || defined(__aarch64__)
  static constexpr int kTileVectors = 4;
#else
  static constexpr int kTileVectors = 2;
#endif
  static constexpr int kTileRows = 4;
  static constexpr int64_t kPanel = kTileVectors * kLanes;
  /// Rows of B that are packed together. They stay in the first-level cache: 64 rows of 4 vectors are at most 16 KiB.
  static constexpr int64_t kDepth = 64;

  MPMML_INLINE V best(V x, V y) { return x > y ? x : y; }

  /// Returns the indices of columns in their block, which fit all types.
  MPMML_INLINE V lane_numbers(int first) {
    Score numbers[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) numbers[lane] = static_cast<Score>(first + lane);
    return load(numbers);
  }

  /// C = C ⊕ A ⊗ B for `rows` rows of `vectors` vectors, over `depth` steps.
  template <int rows, int vectors>
  static inline void tile(Score* c, int64_t c_stride, const Score* a, int64_t a_stride, const Score* b,
                          int64_t b_stride, int64_t depth) {
    V sum[rows][vectors];
    MPMML_UNROLL for (int i = 0; i < rows; ++i) {
      MPMML_UNROLL for (int j = 0; j < vectors; ++j) sum[i][j] = load(c + i * c_stride + j * kLanes);
    }
    for (int64_t k = 0; k < depth; ++k, b += b_stride) {
      V row[vectors];
      MPMML_UNROLL for (int j = 0; j < vectors; ++j) row[j] = load(b + j * kLanes);
      MPMML_UNROLL for (int i = 0; i < rows; ++i) {
        V left = splat(a[i * a_stride + k]);
        MPMML_OPAQUE(left);
        MPMML_UNROLL for (int j = 0; j < vectors; ++j) sum[i][j] = best(left + row[j], sum[i][j]);
      }
    }
    MPMML_UNROLL for (int i = 0; i < rows; ++i) {
      MPMML_UNROLL for (int j = 0; j < vectors; ++j) store(c + i * c_stride + j * kLanes, sum[i][j]);
    }
  }

  /// tile() for 1 … kTileVectors vectors.
  static void tile_of(int64_t vectors, Score* c, int64_t c_stride, const Score* a, int64_t a_stride, const Score* b,
                      int64_t b_stride, int64_t depth) {
    static_assert(kTileVectors == 2 || kTileVectors == 4);
    if (vectors == kTileVectors) return tile<kTileRows, kTileVectors>(c, c_stride, a, a_stride, b, b_stride, depth);
    if constexpr (kTileVectors == 4) {
      if (vectors == 3) return tile<kTileRows, 3>(c, c_stride, a, a_stride, b, b_stride, depth);
      if (vectors == 2) return tile<kTileRows, 2>(c, c_stride, a, a_stride, b, b_stride, depth);
    }
    tile<kTileRows, 1>(c, c_stride, a, a_stride, b, b_stride, depth);
  }

  static void start(const Triangle& shape, const Start& start, Span rows, Span columns) {
    auto* const table = static_cast<Score*>(start.table);
    const auto* const folded = static_cast<const Score*>(start.folded);
    const auto* const inside = static_cast<const Score*>(start.inside);
    const V add = splat(static_cast<Score>(start.add)), enclosing = splat(static_cast<Score>(start.enclosing));
    for (int64_t row = rows.first; row < rows.end; ++row) {
      const int64_t block = row / kBlock, from = shape.row(row);
      const int64_t end = std::min(columns.end, shape.end_column(block));
      for (int64_t col = std::max(columns.first, block * kBlock); col < end; col += kLanes) {
        V score = load(folded + from + col) + add;
        if (inside) score = best(score, load(inside + from + col) + enclosing);
        store(table + from + col, score);
      }
      if (const int64_t next = row + 1; start.between && next >= columns.first && next < end) {
        Score& score = table[from + next];
        score = std::max(score, static_cast<Score>(start.between[row]));
      }
    }
  }

  static void multiply(const Triangle& shape, void* c, const void* a, const void* b, Span rows, Span columns,
                       void* scratch) {
    const int64_t padding = shape.padding() / kTileRows * kTileRows;
    const int64_t first_row = std::max(rows.first, padding);
    for (int64_t end = columns.end; end > columns.first; end -= kPanel) {
      const Span panel{std::max(columns.first, end - kPanel), end};
      for (int64_t k = first_row; k < panel.end; k += kDepth) {
        const Span depth{k, std::min(k + kDepth, panel.end)};
        const Span some{first_row, std::min(rows.end, depth.end)};
        if (!some.is_empty()) {
          multiply_panel(shape, static_cast<Score*>(c), static_cast<const Score*>(a), static_cast<const Score*>(b),
                         some, panel, depth, static_cast<Score*>(scratch));
        }
      }
    }
  }

  /// Accumulates the part of a product whose inner nodes are in `depth`.
  static void multiply_panel(const Triangle& shape, Score* c, const Score* a, const Score* b, Span rows, Span panel,
                             Span depth, Score* scratch) {
    for (int64_t k = depth.first; k < depth.end; ++k) {
      const int64_t block = k / kBlock, from = shape.row(k);
      const int64_t end = std::min(panel.end, shape.end_column(block));
      for (int64_t col = std::max(panel.first, block * kBlock); col < end; col += kLanes) {
        store(scratch + (k - depth.first) * kPanel + (col - panel.first), load(b + from + col));
      }
    }
    for (int64_t row = rows.first; row < rows.end; row += kTileRows) {
      const int64_t block = row / kBlock, stride = shape.stride(block), from = shape.row(row);
      const int64_t end = std::min(panel.end, shape.end_column(block));
      // A row of A begins at its own node, and a column of B ends at its own. So the number of vectors decreases with
      // k.
      int64_t k = std::max(depth.first, row);
      int64_t col = std::max(panel.first, k / kLanes * kLanes);
      while (k < depth.end && col < end) {
        const int64_t until = std::min(depth.end, col + kLanes);
        tile_of((end - col) / kLanes, c + from + col, stride, a + from + k, stride,
                scratch + (k - depth.first) * kPanel + (col - panel.first), kPanel, until - k);
        k = until;
        col += kLanes;
      }
    }
  }

  /// C = C ⊕ A ⊗ B for blocks: C is block (row, column), and the inner nodes are those of blocks [first, end).
  static void multiply_blocks(const Triangle& shape, Score* c, const Score* a, const Score* b, int64_t row_block,
                              int64_t column_block, int64_t first, int64_t end) {
    constexpr int vectors = std::min(kBlockVectors, 2), rows = vectors == 1 ? 8 : 4;
    const int64_t from = shape.row(row_block * kBlock), stride = shape.stride(row_block);
    for (int64_t k = first; k < end; ++k) {
      const Score* const right = b + shape.row(k * kBlock) + column_block * kBlock;
      const Score* const left = a + from + k * kBlock;
      Score* const to = c + from + column_block * kBlock;
      for (int64_t col = 0; col < kBlock; col += vectors * kLanes) {
        for (int64_t row = 0; row < kBlock; row += rows) {
          tile<rows, vectors>(to + row * stride + col, stride, left + row * stride, stride, right + col,
                              shape.stride(k), kBlock);
        }
      }
    }
  }

  static void close(const Triangle& shape, const FoldingTask& closing, int64_t row_block, int64_t column_block) {
    auto* const table = static_cast<Score*>(closing.table);
    const auto* const folded = static_cast<const Score*>(closing.folded);
    const bool alone = table == folded, on_diagonal = row_block == column_block;
    if (alone) {
      multiply_blocks(shape, table, table, table, row_block, column_block, row_block + 1, column_block);
    } else if (!on_diagonal) {
      multiply_blocks(shape, table, folded, table, row_block, column_block, row_block + 1, column_block + 1);
      multiply_blocks(shape, table, table, folded, row_block, column_block, row_block, column_block);
    }
    const int64_t columns = column_block * kBlock, first = row_block * kBlock, end = first + kBlock;
    for (int64_t row = end - 1; row >= first; --row) {
      Score* const to = table + shape.row(row) + columns;
      if (row < shape.padding()) {
        for (int64_t j = 0; j < kBlock; ++j) to[j] = kNone;
      } else if (alone && on_diagonal) {
        fold_row(shape, closing, row, end);
      } else {
        close_row(shape, closing, row, columns, end, on_diagonal);
      }
    }
  }

  /// Adds the candidates of a block in which this row's base is paired.
  MPMML_INLINE void add_pairs(const Triangle& shape, const FoldingTask& closing, int64_t row, int64_t columns,
                              V* scores) {
    if (row + 1 == shape.positions()) return;
    // The base before column c's node pairs if c − 1 > row + min_loop.
    const auto nearest = static_cast<Score>(std::clamp<int64_t>(row + 1 + closing.min_loop - columns, -1, kBlock));
    const auto* const inside = static_cast<const Score*>(closing.table) + shape.row(row + 1) + columns - 1;
    const auto* const pairs = static_cast<const Score*>(closing.pairs[closing.bases[row]]) + columns;
    for (int j = 0; j < kBlockVectors; ++j) {
      const V candidate = best(load(inside + j * kLanes) + load(pairs + j * kLanes), scores[j]);
      scores[j] = lane_numbers(j * kLanes) > splat(nearest) ? candidate : scores[j];
    }
  }

  /// `end`: of the rows of the block.
  static inline void close_row(const Triangle& shape, const FoldingTask& closing, int64_t row, int64_t columns,
                               int64_t end, bool on_diagonal) {
    auto* const table = static_cast<Score*>(closing.table);
    const auto* const folded = static_cast<const Score*>(closing.folded);
    Score* const to = table + shape.row(row) + columns;
    V scores[kBlockVectors];
    for (int j = 0; j < kBlockVectors; ++j) scores[j] = load(to + j * kLanes);
    add_pairs(shape, closing, row, columns, scores);
    const Score *const left = folded + shape.row(row), *below = to;
    const int64_t stride = shape.stride(row / kBlock);
    for (int64_t k = row + 1; k < end; ++k) {
      below += stride;
      const V first = splat(left[k]);
      for (int j = 0; j < kBlockVectors; ++j) scores[j] = best(first + load(below + j * kLanes), scores[j]);
    }
    const auto leave_out = [&] {
      const V own = splat(static_cast<Score>(row - columns));
      for (int j = 0; j < kBlockVectors; ++j) scores[j] = lane_numbers(j * kLanes) < own ? splat(kNone) : scores[j];
    };
    if (on_diagonal) leave_out();
    Score now[kBlock];
    for (int j = 0; j < kBlockVectors; ++j) store(now + j * kLanes, scores[j]);
    const Score* right = folded + shape.row(columns) + columns;
    const int64_t right_stride = shape.stride(columns / kBlock);
    for (int64_t k = 0; k < kBlock; ++k, right += right_stride) {
      const V first = splat(now[k]);
      for (int j = 0; j < kBlockVectors; ++j) scores[j] = best(first + load(right + j * kLanes), scores[j]);
    }
    if (on_diagonal) leave_out();
    for (int j = 0; j < kBlockVectors; ++j) store(to + j * kLanes, scores[j]);
  }

  /// A row of a strand that is folded alone, in its block on the diagonal: its base is unpaired, or pairs.
  static inline void fold_row(const Triangle& shape, const FoldingTask& closing, int64_t row, int64_t end) {
    auto* const table = static_cast<Score*>(closing.table);
    const int64_t columns = end - kBlock, own = row - columns;
    Score* const to = table + shape.row(row) + columns;
    V scores[kBlockVectors];
    for (int j = 0; j < kBlockVectors; ++j) scores[j] = splat(kNone);
    add_pairs(shape, closing, row, columns, scores);
    Score now[kBlock];
    for (int j = 0; j < kBlockVectors; ++j) store(now + j * kLanes, scores[j]);
    if (own + 1 < kBlock) now[own + 1] = 0;
    const Score* below = to;
    const int64_t stride = shape.stride(row / kBlock);
    for (int j = 0; j < kBlockVectors; ++j) scores[j] = splat(kNone);
    for (int64_t k = own + 1; k < kBlock; ++k) {
      below += stride;
      const V first = splat(now[k]);
      for (int j = 0; j < kBlockVectors; ++j) scores[j] = best(first + load(below + j * kLanes), scores[j]);
    }
    for (int j = 0; j < kBlockVectors; ++j) store(to + j * kLanes, scores[j]);
    for (int64_t j = 0; j < own; ++j) to[j] = kNone;
    to[own] = 0;
  }

  static constexpr RnaKernel kernel() {
    return {kDepth * kPanel * static_cast<int64_t>(sizeof(Score)), start, multiply, close};
  }
};

}  // namespace mpmml::cpu::MPMML_ISA
