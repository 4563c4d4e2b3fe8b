// What kernels over packed operands share: where the operands are, and which tile is whose.
#pragma once
#include "core/algebra/arithmetic.h"
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/epilogue.cuh"
#include "cuda/kernels/packing.cuh"
#include "cuda/kernels/simd_step.cuh"

namespace mpmml::cuda {

/// The bytes of one load or copy.
constexpr int kChunkBytes = 16;

/// The packed operands, and what the main loop needs to know about them.
template <class Word>
struct PackedProblem {
  const Word* a;                         ///< [instance][k][rows], words
  const Word* b;                         ///< [instance][k][words of columns]
  int64_t padded_m, padded_n, padded_k;  ///< in rows, words and operands
  int64_t a_instance, b_instance;        ///< words from one instance to the next
  uint32_t one;                          ///< 1; see sum_by_multiply
};

/// Tiles of K, one after the other.
struct DepthTiles {
  int first, count;
};

/// Those of `steps` steps each that a tile of C needs: all of these, or what the structure leaves. The rows and columns may
/// end outside C. `has_results` says whether C has any there.
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

/// A tile of C among those of an instance.
struct TilePlace {
  int m, n;
};

/// The place of tile number `index`. Numbers go down columns of up to 8 tile rows, so that blocks that run together share
/// operands in the L2 cache. The divisions are those of `Number`.
template <class Number = int64_t, class Index>
__device__ __forceinline__ TilePlace locate_tile(Index index, std::common_type_t<Number> tiles_m,
                                                 std::common_type_t<Number> tiles_n) {
  constexpr Number kGroup = 8;
  const Number group = index / (kGroup * tiles_n);
  const Number within = index % (kGroup * tiles_n);
  const Number rows = min(kGroup, tiles_m - group * kGroup);
  return {static_cast<int>(group * kGroup + within % rows), static_cast<int>(within / rows)};
}

/// The rows or columns of a tile that has `size` of them. They may end outside C.
__device__ __forceinline__ Span span_of_tile(int tile, int size) {
  return {int64_t{tile} * size, (int64_t{tile} + 1) * size};
}

}  // namespace mpmml::cuda
