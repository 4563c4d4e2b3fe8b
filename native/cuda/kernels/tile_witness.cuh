// Witnesses of products on tensor cores. The product's kernel notes for each result the tile of K that reaches it
// first, and stores hint_of_chunk() of the note. A second kernel searches that tile of the packed operands.
#pragma once
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/packed.cuh"
#include "cuda/kernels/visitors.cuh"
#include "cuda/kernels/warpgroup.cuh"
#include "cuda/kernels/witness.cuh"

namespace mpmml::cuda {

/// Transposition of accumulator fragments by a pair of lanes. In the layout of tensor cores, a thread has two
/// neighbours of a row and two neighbours of the row 8 below. After the exchange it has four neighbours of one row: the
/// first lane of the pair has the first row, the second lane the second row.
struct QuadOfRow {
  bool is_second;

  __device__ __forceinline__ QuadOfRow() : is_second(threadIdx.x % 2 == 1) {}
  /// Row and first column of the quad, from the row and first column of the pairs.
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

/// A packed operand in tiles of kLinesOfTile lines of kTileLineBytes each: tiles[instance][tile of lines][tile of K].
constexpr int kLinesOfTile = 128;
struct TiledOperand {
  const unsigned char* tiles;
  int64_t instance_tiles;  ///< stride between batch entries, in tiles; 0 if shared
};
struct TileSearch {
  TiledOperand a, b;
  int tiles_k;
};

/// Threads per block, and lanes that search for one witness together; each lane compares two chunks of 16 bytes of the
/// lines. A block searches kTileSearchRows × kTileSearchCols results, because the witnesses of neighbours are often in
/// one tile, which then is in the L1 cache.
constexpr int kTileSearchThreads = 256, kTileSearchLanes = 4;
constexpr int kTileSearchRows = 32, kTileSearchCols = kTileSearchThreads / kTileSearchLanes;

/// Two chunks of a line that a thread holds: the chunk of its lane, and the chunk four positions later.
struct PartOfLine {
  uint4 chunks[2];
};

/// Replaces hints by witnesses. `Note` interprets hints:
///   tile(note)              index of the tile; 0 for kOfFirstTile;
///   step(a, b, note, lane)  first k-step among the thread's chunks that attains the result; kStepsOfTile or more if
///                           none does.
template <class Note>
__global__ void __launch_bounds__(kTileSearchThreads, 4)
    tile_search_kernel(DeviceProblem problem, TileSearch operands) {
#if __CUDA_ARCH__ >= 800
  constexpr int kTogether = 2;  // searches whose loads are in flight at the same time
  constexpr int kSwizzle = 8;   // period of place_in_tile() in lines
  constexpr int32_t kNoHint = -1;
  const int lane = threadIdx.x % kTileSearchLanes;
  const int64_t instance = blockIdx.z;
  const TilePlace place = locate_tile(blockIdx.x, ceil_div(problem.m, int64_t{kTileSearchRows}),
                                      ceil_div(problem.n, int64_t{kTileSearchCols}));
  const int64_t row0 = int64_t{place.m} * kTileSearchRows;
  const int64_t col = int64_t{place.n} * kTileSearchCols + threadIdx.x / kTileSearchLanes;
  // Results of this column in the block's rows.
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
  // Lines are aligned to their size, so an exclusive or applies the swizzle to the address of a chunk.
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
        // A value that isn't a hint reads the first tile, which exists because lines are padded to whole tiles.
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
