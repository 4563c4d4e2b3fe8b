// Shared by kernels over packed operands: the layout of the operands, and the mapping of blocks to tiles.
#pragma once
#include "core/algebra/arithmetic.h"
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/epilogue.cuh"
#include "cuda/kernels/packing.cuh"
#include "cuda/kernels/simd_step.cuh"

namespace mpmml::cuda {

/// Bytes of one vector load or asynchronous copy.
constexpr int kChunkBytes = 16;

/// The packed operands and their layout for the mainloop.
template <class Word>
struct PackedProblem {
  const Word* a;                         ///< [instance][k][rows], words
  const Word* b;                         ///< [instance][k][words of columns]
  int64_t padded_m, padded_n, padded_k;  ///< in rows, words of columns, and operands along K
  int64_t a_instance, b_instance;        ///< stride between batch entries, in words
  uint32_t one;                          ///< 1; see sum_by_multiply
};

/// A range of consecutive tiles of K.
struct DepthTiles {
  int first, count;
};

/// Returns the tiles of K, of `steps` k-steps each, that a tile of C needs: `all` of them, or a smaller range if the
/// structure excludes some. The rows and columns may end outside C. Sets `has_results` to whether the tile of C
/// contains any result.
__device__ __forceinline__ DepthTiles depth_of_tile(const DeviceProblem& problem, Span rows, Span cols, int steps,
                                                    DepthTiles all, bool& has_results) {
  has_results = true;
  if (!problem.is_structured) return all;
  rows.end = min(rows.end, problem.m);
  cols.end = min(cols.end, problem.n);
  has_results = problem.structure.c.has_some(rows, cols);
  const Span needed = problem.structure.steps(rows, cols, problem.k);
  if (needed.is_empty()) return {0, 0};
  const auto first = static_cast<int>(needed.first / steps);
  return {first, static_cast<int>(ceil_div(needed.end, steps)) - first};
}

/// Position of a tile in C of one batch entry, in tiles.
struct TilePlace {
  int m, n;
};

/// Returns the position of tile `index` (threadblock swizzle). Indices go down columns of up to 8 tile rows, so that
/// blocks that run concurrently share operands in the L2 cache. `Number` is the type of the divisions.
template <class Number = int64_t, class Index>
__device__ __forceinline__ TilePlace locate_tile(Index index, std::common_type_t<Number> tiles_m,
                                                 std::common_type_t<Number> tiles_n) {
  constexpr Number kGroup = 8;
  const Number group = index / (kGroup * tiles_n);
  const Number within = index % (kGroup * tiles_n);
  const Number rows = min(kGroup, tiles_m - group * kGroup);
  return {static_cast<int>(group * kGroup + within % rows), static_cast<int>(within / rows)};
}

/// Returns the rows or columns of a tile of the given size, which may end outside C.
__device__ __forceinline__ Span span_of_tile(int tile, int size) {
  return {int64_t{tile} * size, (int64_t{tile} + 1) * size};
}

}  // namespace mpmml::cuda
