// Witnesses of products on tensor cores. A product notes for each result the tile of K that reaches it first, and stores
// hint_of_chunk() of what it has noted. A search that follows goes through that tile of the packed operands.
#pragma once
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/packed.cuh"
#include "cuda/kernels/visitors.cuh"
#include "cuda/kernels/warpgroup.cuh"
#include "cuda/kernels/witness.cuh"

namespace mpmml::cuda {

/// Of two neighbours of a row and two of the row 8 below, as tensor cores leave them in a thread, four neighbours of a row:
/// of two neighbouring threads the first gets the first row, the other the second.
struct QuadOfRow {
  bool is_second;

  __device__ __forceinline__ QuadOfRow() : is_second(threadIdx.x % 2 == 1) {}
  /// Its row and its first column, from those of the pairs.
  template <class Index>
  __device__ __forceinline__ Index row(Index first) const {
    return first + 8 * is_second;
  }
  template <class Index>
  __device__ __forceinline__ Index col(Index first) const {
    return first - 2 * is_second;
  }
  __device__ __forceinline__ void exchange(const int* pairs, int (&quad)[4]) const {
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      const int other = __shfl_xor_sync(~0u, is_second ? pairs[v] : pairs[2 + v], 1);
      quad[v] = is_second ? other : pairs[v];
      quad[2 + v] = is_second ? pairs[2 + v] : other;
    }
  }
};

/// A packed operand in tiles of kLinesOfTile lines of kTileLineBytes: tiles[instance][tile of lines][tile of K].
constexpr int kLinesOfTile = 128;
struct TiledOperand {
  const unsigned char* tiles;
  int64_t instance_tiles;  ///< from one instance to the next: 0 if all have the same
};
struct TileSearch {
  TiledOperand a, b;
  int tiles_k;
};

/// A block searches for the witnesses of so many rows and columns: neighbours often have their steps in the same tiles,
/// which the L1 cache then has. Four threads look for one witness, each at two chunks of 16 bytes of the lines.
constexpr int kTileSearchThreads = 256, kTileSearchLanes = 4;
constexpr int kTileSearchRows = 32, kTileSearchCols = kTileSearchThreads / kTileSearchLanes;

/// What a thread has of a line: the chunk of its lane, and the one that is four later.
struct PartOfLine {
  uint4 chunks[2];
};

/// Replaces hints by witnesses. `Note` says what a hint means:
///   tile(note)               the number of the tile; 0 for kOfFirstTile;
///   step(a, b, note, lane)   the first step that reaches the result, of those that the thread has; kStepsOfTile or more if
///                            none does.
template <class Note>
__global__ void __launch_bounds__(kTileSearchThreads, 4)
    tile_search_kernel(DeviceProblem problem, TileSearch operands) {
#if __CUDA_ARCH__ >= 800
  constexpr int kTogether = 2;  // searches whose loads are under way at the same time
  constexpr int kSwizzle = 8;   // lines after which place_in_tile() repeats
  constexpr int32_t kNoHint = -1;
  const int lane = threadIdx.x % kTileSearchLanes;
  const int64_t instance = blockIdx.z;
  const TilePlace place = locate_tile(blockIdx.x, ceil_div(problem.m, int64_t{kTileSearchRows}),
                                      ceil_div(problem.n, int64_t{kTileSearchCols}));
  const int64_t row0 = int64_t{place.m} * kTileSearchRows;
  const int64_t col = int64_t{place.n} * kTileSearchCols + threadIdx.x / kTileSearchLanes;
  // The results of this column, among the block's rows.
  const Span results = problem.structure.c.of_column(col);
  const auto among_rows = [&](int64_t row) {
    return static_cast<int>(min(max(row - row0, int64_t{0}), int64_t{kTileSearchRows}));
  };
  const int begin = among_rows(results.first);
  const int end = col < problem.n ? among_rows(min(problem.m, results.end)) : 0;
  const auto line_of = [&](const TiledOperand& operand, int64_t line) {
    const int64_t tile = instance * operand.instance_tiles + line / kLinesOfTile * operands.tiles_k;
    return operand.tiles + (tile * kLinesOfTile + line % kLinesOfTile) * kTileLineBytes;
  };
  // Lines begin at multiples of their size, so a chunk of one is found by an exclusive or.
  const auto load = [](const unsigned char* chunk, int tile, int swizzle) {
    const auto from = reinterpret_cast<uintptr_t>(chunk + int64_t{tile} * kLinesOfTile * kTileLineBytes) ^ swizzle;
    constexpr int kHalfLine = kTileLineBytes / 2;
    return PartOfLine{
        {__ldg(reinterpret_cast<const uint4*>(from)), __ldg(reinterpret_cast<const uint4*>(from ^ kHalfLine))}};
  };
  const unsigned char* const chunk_b =
      line_of(operands.b, col) + (lane ^ static_cast<int>(col % kSwizzle)) * kChunkBytes;
  const unsigned char* chunks_a = line_of(operands.a, row0) + lane * kChunkBytes;
  const MutableMatrixView& view = problem.witness;
  int32_t* const witnesses = instance_of<int32_t>(view, instance) + row0 * view.row_stride + col * view.col_stride;
  const int32_t* next = witnesses;
  int32_t* place_of_next = witnesses;

#pragma unroll 1
  for (int first = 0; first < kTileSearchRows; first += kSwizzle) {
    int hints[kSwizzle];
#pragma unroll
    for (int i = 0; i < kSwizzle; ++i) {
      hints[i] = first + i >= begin && first + i < end ? *next : kNoHint;
      next += view.row_stride;
    }
#pragma unroll
    for (int part = 0; part < kSwizzle; part += kTogether) {
      int notes[kTogether];
      PartOfLine a[kTogether], b[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        // Lines are padded to whole tiles, so whatever isn't a hint reads some of a tile that is there.
        notes[i] = hints[part + i] < kNoHint ? chunk_of_hint(hints[part + i]) : Note::kOfFirstTile;
        const int tile = Note::tile(notes[i]);
        a[i] = load(chunks_a + (part + i) * kTileLineBytes, tile, (part + i) * kChunkBytes);
        b[i] = load(chunk_b, tile, 0);
      }
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        int step = Note::step(a[i], b[i], notes[i], lane);
        step = min(step, __shfl_xor_sync(~0u, step, 1));
        step = min(step, __shfl_xor_sync(~0u, step, 2));
        if (lane == 0 && hints[part + i] < kNoHint) {
          *place_of_next = witness_at(problem.through, instance, row0 + first + part + i,
                                      Note::tile(notes[i]) * Note::kStepsOfTile + step);
        }
        place_of_next += view.row_stride;
      }
    }
    chunks_a += kSwizzle * kTileLineBytes;
  }
#endif
}

}  // namespace mpmml::cuda
