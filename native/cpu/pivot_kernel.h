// The Floyd-Warshall loops for a block of pivots, compiled for each instruction set (vector.h).
//
// For integers whose sums can overflow, a tile stores zero as the threshold of NativeArithmetic, and the addends store
// zero as NativeArithmetic's zero. So no sum with zero is better than the threshold.
#pragma once
#include "core/algebra/arithmetic.h"
#include "cpu/pivots.h"
#include "cpu/vector.h"

namespace mpmml::cpu::MPMML_ISA {

template <int bytes>
struct NodeOf;
template <>
struct NodeOf<4> {
  using type = int32_t;
};
template <>
struct NodeOf<8> {
  using type = int64_t;
};
// Used only without `next`.
template <>
struct NodeOf<1> {
  using type = int8_t;
};
template <>
struct NodeOf<2> {
  using type = int16_t;
};

template <class S, bool kWithNext>
struct PivotLoops {
  using Element = typename S::Element;
  /// Type that the loops compute in. With `next`, elements of 8 and 16 bits are converted to int32.
  using Work = std::conditional_t<kWithNext && sizeof(Element) < sizeof(int32_t), int32_t, Element>;
  using Node = typename NodeOf<sizeof(Work)>::type;
  using V = Vector<Work>;
  using N = Vector<Node>;

  static constexpr int kMost = kMaxPivots;
  static constexpr int kLanes = VectorOf<Work>::lanes;
  static constexpr int kVectors = kMost / kLanes > 0 ? kMost / kLanes : 1;
  static constexpr int kWidth = kVectors * kLanes;

  static constexpr bool kEncodes = is_integer_sum<S>;

  /// Encodings of zero in a tile, and in the addends.
  static constexpr Work zero_in_tile() {
    if constexpr (kEncodes) return NativeArithmetic<S>::for_operands(ArithmeticKind::kTranslated).encoding.threshold;
    return static_cast<Work>(S::zero);
  }
  static constexpr Work zero_as_operand() {
    if constexpr (kEncodes) return NativeArithmetic<S>::for_operands(ArithmeticKind::kTranslated).encoding.zero;
    return static_cast<Work>(S::zero);
  }
  static constexpr Work kZero = zero_in_tile();
  static constexpr Work kZeroOperand = zero_as_operand();

  MPMML_HOST_DEVICE static Work to_tile(Element x) {
    if constexpr (kEncodes) return x == S::zero ? kZero : x;
    return static_cast<Work>(x);
  }
  MPMML_HOST_DEVICE static Element to_element(Work x) {
    if constexpr (kEncodes) return x == kZero ? S::zero : x;
    return static_cast<Element>(x);
  }
  MPMML_HOST_DEVICE static Work to_operand(Work x) {
    if constexpr (kEncodes) return x == kZero ? kZeroOperand : x;
    return x;
  }

  template <class X>
  MPMML_HOST_DEVICE static auto is_better(X x, X y) {
    if constexpr (S::combine_kind == OperatorKind::kMinimum) {
      return x < y;
    } else {
      return x > y;
    }
  }

  /// Columns and rows of the pivots as operands, each recorded when its pivot is processed.
  struct PivotPanel {
    Work columns[kMost][kMost];  ///< [node][pivot]
    Work rows[kMost][kWidth];    ///< [pivot][node]
    int32_t next_columns[kWithNext ? kMost : 1][kMost];
  };

  static Element* element(void* matrix, int64_t stride, int64_t row, int64_t col) {
    return static_cast<Element*>(matrix) + row * stride + col;
  }

  /// tile = elements, and zero from `count` on.
  template <int width>
  static __attribute__((noinline)) void load_row(Work (&tile)[width], const Element* from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) tile[i] = to_tile(from[i]);
    for (int64_t i = count; i < width; ++i) tile[i] = kZero;
  }
  static __attribute__((noinline)) void store_row(Element* to, const Work* tile, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = to_element(tile[i]);
  }
  static __attribute__((noinline)) void load_nodes(Node* tile, const int32_t* from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) tile[i] = from[i];
  }
  static __attribute__((noinline)) void store_nodes(int32_t* to, const Node* tile, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int32_t>(tile[i]);
  }

  /// to ⊕= a ⊗ b. `next` becomes `node` where the sum is better.
  MPMML_INLINE void improve(V& to, N& next, const V& a, const V& b, const N& node) {
    const V candidate = S::extend(a, b);
    if constexpr (kWithNext) {
      const auto better = is_better(candidate, to);
      to = better ? candidate : to;
      next = better ? node : next;
    } else {
      static_cast<void>(next), static_cast<void>(node);
      to = S::combine(to, candidate);
    }
  }

  /// Relaxes `vectors` vectors in memory with one element `a`.
  template <int vectors>
  MPMML_INLINE void improve_line(Work* to, Node* next, Work a, const Work* b, Node node) {
    const V each_a = splat(a);
    const N each_node = splat(node);
    for (int v = 0; v < vectors; ++v) {
      V d = load(to + v * kLanes);
      N next_d{};
      if constexpr (kWithNext) next_d = load(next + v * kLanes);
      improve(d, next_d, each_a, load(b + v * kLanes), each_node);
      store(to + v * kLanes, d);
      if constexpr (kWithNext) store(next + v * kLanes, next_d);
    }
  }

  static int64_t among(const PivotBlock& block) {
    const int64_t count = block.count;
    alignas(64) Work tile[kMost][kWidth];
    alignas(64) Node next[kWithNext ? kMost : 1][kWithNext ? kWidth : 1];
    auto& panel = *static_cast<PivotPanel*>(block.scratch);
    const auto d = [&](int64_t row) { return element(block.down, block.down_stride, block.first_row + row, 0); };
    const auto next_row = [&](int64_t row) {
      return block.next_down + (block.first_row + row) * block.next_down_stride;
    };
    for (int64_t i = 0; i < count; ++i) {
      load_row(tile[i], d(i), count);
      if constexpr (kWithNext) {
        for (int64_t j = count; j < kWidth; ++j) next[i][j] = 0;
        load_nodes(next[i], next_row(i), count);
      }
    }
    for (int64_t k = 0; k < count; ++k) {
      if (is_better(tile[k][k], static_cast<Work>(S::one))) return k;
      for (int64_t j = 0; j < kWidth; ++j) panel.rows[k][j] = to_operand(tile[k][j]);
      for (int64_t i = 0; i < count; ++i) {
        panel.columns[i][k] = to_operand(tile[i][k]);
        if constexpr (kWithNext) panel.next_columns[i][k] = static_cast<int32_t>(next[i][k]);
      }
      if (block.columns) {
        store_row(element(block.rows, block.rows_stride, k, block.first_col), tile[k], count);
        for (int64_t i = 0; i < count; ++i) {
          *element(block.columns, block.columns_stride, block.first_row + i, k) = to_element(tile[i][k]);
          if constexpr (kWithNext) {
            block.next_columns[(block.first_row + i) * block.next_columns_stride + k] = panel.next_columns[i][k];
          }
        }
      }
      for (int64_t i = 0; i < count; ++i) {
        const Node node = kWithNext ? static_cast<Node>(panel.next_columns[kWithNext ? i : 0][k]) : 0;
        improve_line<kVectors>(tile[i], next[kWithNext ? i : 0], panel.columns[i][k], panel.rows[k], node);
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      store_row(d(i), tile[i], count);
      if constexpr (kWithNext) store_nodes(next_row(i), next[i], count);
    }
    return -1;
  }

  /// Rows of a tile in registers.
#if defined(__AVX512F__) || defined(__aarch64__)
  static constexpr int kRegisters = 32;
#else
  static constexpr int kRegisters = 16;
#endif
  static constexpr int kRowsAtOnce =
      kRegisters / 2 / (kVectors * (kWithNext ? 2 : 1)) > 1 ? kRegisters / 2 / (kVectors * (kWithNext ? 2 : 1)) : 1;

  static void down(const PivotBlock& block, int64_t first_row, int64_t end_row) {
    int64_t row = first_row;
    if constexpr (kVectors <= kRegisters / 2) {
      for (; row + kRowsAtOnce <= end_row; row += kRowsAtOnce) rows_down<kRowsAtOnce>(block, row);
    }
    for (; row < end_row; ++row) row_down(block, row);
  }

  static void row_down(const PivotBlock& block, int64_t row) {
    const int64_t count = block.count;
    const auto& panel = *static_cast<const PivotPanel*>(block.scratch);
    alignas(64) Work tile[kWidth], passed[kWidth];
    alignas(64) Node next[kWithNext ? kWidth : 1]{};
    Element* const d = element(block.down, block.down_stride, row, 0);
    int32_t* const next_row = kWithNext ? block.next_down + row * block.next_down_stride : nullptr;
    load_row(tile, d, count);
    if constexpr (kWithNext) load_nodes(next, next_row, count);
    for (int64_t k = 0; k < count; ++k) {
      passed[k] = tile[k];
      Node node = 0;
      if constexpr (kWithNext) {
        node = next[k];
        block.next_columns[row * block.next_columns_stride + k] = static_cast<int32_t>(node);
      }
      improve_line<kVectors>(tile, next, to_operand(tile[k]), panel.rows[k], node);
    }
    store_row(d, tile, count);
    store_row(element(block.columns, block.columns_stride, row, 0), passed, count);
    if constexpr (kWithNext) store_nodes(next_row, next, count);
  }

  /// The elements of each pivot are read from registers through memory.
  template <int rows>
  static void rows_down(const PivotBlock& block, int64_t first_row) {
    const int64_t count = block.count;
    const auto& panel = *static_cast<const PivotPanel*>(block.scratch);
    alignas(64) Work tile[rows][kWidth];
    alignas(64) Node next[rows][kWithNext ? kWidth : 1];
    alignas(64) Work passed[rows][kWidth];  // as recorded
    const auto d = [&](int row) { return element(block.down, block.down_stride, first_row + row, 0); };
    const auto next_row = [&](int row) { return block.next_down + (first_row + row) * block.next_down_stride; };
    V q[rows][kVectors];
    N next_q[rows][kVectors];
    for (int r = 0; r < rows; ++r) {
      load_row(tile[r], d(r), count);
      if constexpr (kWithNext) {
        for (int64_t j = count; j < kWidth; ++j) next[r][j] = 0;
        load_nodes(next[r], next_row(r), count);
      }
      MPMML_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        q[r][v] = load(tile[r] + v * kLanes);
        if constexpr (kWithNext) next_q[r][v] = load(next[r] + v * kLanes);
      }
    }
    MPMML_UNROLL
    for (int turn = 0; turn < kVectors; ++turn) {
      const int64_t end = count < (turn + 1) * kLanes ? count : (turn + 1) * kLanes;
      for (int64_t k = turn * kLanes; k < end; ++k) {
        V a[rows];
        N node[rows]{};
        MPMML_UNROLL
        for (int r = 0; r < rows; ++r) {
          store(tile[r] + turn * kLanes, q[r][turn]);
          const Work x = tile[r][k];
          passed[r][k] = x;
          a[r] = splat(to_operand(x));
          if constexpr (kWithNext) {
            store(next[r] + turn * kLanes, next_q[r][turn]);
            const Node there = next[r][k];
            block.next_columns[(first_row + r) * block.next_columns_stride + k] = static_cast<int32_t>(there);
            node[r] = splat(there);
          }
        }
        MPMML_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          const V b = load(panel.rows[k] + v * kLanes);
          MPMML_UNROLL
          for (int r = 0; r < rows; ++r) improve(q[r][v], next_q[r][v], a[r], b, node[r]);
        }
      }
    }
    for (int r = 0; r < rows; ++r) {
      MPMML_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        store(tile[r] + v * kLanes, q[r][v]);
        if constexpr (kWithNext) store(next[r] + v * kLanes, next_q[r][v]);
      }
      store_row(d(r), tile[r], count);
      store_row(element(block.columns, block.columns_stride, first_row + r, 0), passed[r], count);
      if constexpr (kWithNext) store_nodes(next_row(r), next[r], count);
    }
  }

  /// Columns of a tile, which stays in the first-level cache.
  static constexpr int kTileVectors = kVectors < 4 ? 4 : (kWithNext ? kVectors / 2 : kVectors);
  static constexpr int kTile = kTileVectors * kLanes;
  /// Pivots that are processed together, with their rows in registers.
  static constexpr int kTogether = 4;

  static void along(const PivotBlock& block, int64_t first_col, int64_t end_col) {
    for (int64_t col = first_col; col < end_col; col += kTile) {
      tile_along(block, col, end_col - col < kTile ? end_col - col : kTile);
    }
  }

  struct Tile {
    alignas(64) Work d[kMost][kTile];
    alignas(64) Node next[kWithNext ? kMost : 1][kTile];
    alignas(64) Work passed[kTogether][kTile];
  };

  /// Relaxes row `i` over the pivots first + [from, to), whose rows are in tile.passed.
  MPMML_INLINE void improve_row(Tile& tile, const PivotPanel& panel, int64_t i, int64_t first, int from, int to) {
    for (int u = from; u < to; ++u) {
      const Node node = kWithNext ? static_cast<Node>(panel.next_columns[kWithNext ? i : 0][first + u]) : 0;
      improve_line<kTileVectors>(tile.d[i], tile.next[kWithNext ? i : 0], panel.columns[i][first + u], tile.passed[u],
                                 node);
    }
  }

  /// Relaxes the rows [first_row, end_row) over kTogether pivots, two vectors of columns at a time.
  static void improve_rows(Tile& tile, const PivotPanel& panel, int64_t first_row, int64_t end_row, int64_t first) {
    constexpr int kAtOnce = 2;
    static_assert(kTileVectors % kAtOnce == 0);
    for (int v = 0; v < kTileVectors; v += kAtOnce) {
      V b[kTogether][kAtOnce];
      MPMML_UNROLL
      for (int u = 0; u < kTogether; ++u) {
        MPMML_UNROLL
        for (int w = 0; w < kAtOnce; ++w) b[u][w] = load(tile.passed[u] + (v + w) * kLanes);
      }
      for (int64_t i = first_row; i < end_row; ++i) {
        V d[kAtOnce];
        N next[kAtOnce]{};
        MPMML_UNROLL
        for (int w = 0; w < kAtOnce; ++w) {
          d[w] = load(tile.d[i] + (v + w) * kLanes);
          if constexpr (kWithNext) next[w] = load(tile.next[i] + (v + w) * kLanes);
        }
        MPMML_UNROLL
        for (int u = 0; u < kTogether; ++u) {
          const V a = splat(panel.columns[i][first + u]);
          N node{};
          if constexpr (kWithNext) node = splat(static_cast<Node>(panel.next_columns[i][first + u]));
          MPMML_UNROLL
          for (int w = 0; w < kAtOnce; ++w) improve(d[w], next[w], a, b[u][w], node);
        }
        MPMML_UNROLL
        for (int w = 0; w < kAtOnce; ++w) {
          store(tile.d[i] + (v + w) * kLanes, d[w]);
          if constexpr (kWithNext) store(tile.next[i] + (v + w) * kLanes, next[w]);
        }
      }
    }
  }

  static void tile_along(const PivotBlock& block, int64_t col, int64_t width) {
    const int64_t count = block.count;
    const auto& panel = *static_cast<const PivotPanel*>(block.scratch);
    Tile tile;
    const auto d = [&](int64_t row) { return element(block.along, block.along_stride, row, col); };
    const auto next_row = [&](int64_t row) { return block.next_along + row * block.next_along_stride + col; };
    for (int64_t i = 0; i < count; ++i) {
      load_row(tile.d[i], d(i), width);
      if constexpr (kWithNext) {
        for (int64_t j = width; j < kTile; ++j) tile.next[i][j] = 0;
        load_nodes(tile.next[i], next_row(i), width);
      }
    }
    for (int64_t first = 0; first < count; first += kTogether) {
      const int together = count - first < kTogether ? static_cast<int>(count - first) : kTogether;
      for (int u = 0; u < together; ++u) {
        const Work* const row = tile.d[first + u];
        store_row(element(block.rows, block.rows_stride, first + u, col), row, width);
        for (int j = 0; j < kTile; ++j) tile.passed[u][j] = to_operand(row[j]);
        for (int later = u + 1; later < together; ++later) improve_row(tile, panel, first + later, first, u, u + 1);
      }
      for (int u = 0; u < together; ++u) improve_row(tile, panel, first + u, first, u + 1, together);
      if (together == kTogether) {
        improve_rows(tile, panel, 0, first, first);
        improve_rows(tile, panel, first + together, count, first);
      } else {
        for (int64_t i = 0; i < first; ++i) improve_row(tile, panel, i, first, 0, together);
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      store_row(d(i), tile.d[i], width);
      if constexpr (kWithNext) store_nodes(next_row(i), tile.next[i], width);
    }
  }

  static PivotKernel kernel() { return {sizeof(PivotPanel), among, down, along}; }
};

template <class S>
static PivotKernel pivot_kernel(bool with_next) {
  if constexpr (S::idempotent) {
    return with_next ? PivotLoops<S, true>::kernel() : PivotLoops<S, false>::kernel();
  } else {
    return {};
  }
}

static PivotKernel find_pivot_kernel(SemiringId semiring, DataType dtype, bool with_next) {
#define MPMML_CASE(id, struct_name, dtype_id, element) \
  if (semiring == SemiringId::id && dtype == DataType::dtype_id) return pivot_kernel<struct_name<element>>(with_next);
  MPMML_FOR_EACH_SEMIRING_TYPE(MPMML_CASE)
#undef MPMML_CASE
  return {};
}

}  // namespace mpmml::cpu::MPMML_ISA
