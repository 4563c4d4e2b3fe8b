// Outlier chunks of K: chunks in which a line of the narrow operand has a zero or too large a range (outlier_share in
// core/algebra/value_range.h). The exponent families skip them, tile by tile, and these kernels
// combine their k-steps with C in integers.
#pragma once
#include "core/algebra/arithmetic.h"
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/epilogue.cuh"
#include "cuda/kernels/exponent_packing.cuh"
#include "cuda/kernels/packed.cuh"

namespace mpmml::cuda {

constexpr int kOutlierThreads = 256;

/// Finds the outlier chunks of an operand's tiles, and sets their offsets so low that they decide no result. Packing
/// wrote 0 for each element that is zero or too far from the best.
static __global__ void __launch_bounds__(kOutlierThreads)
    skip_outliers_kernel(ExponentTarget target, int64_t lines, int64_t depth, int32_t left_out) {
  constexpr int kRuns = kExponentDepth / kExponentRun, kRunsOfChunk = kChunkSteps / kExponentRun;
  const int64_t tile_of_lines = blockIdx.x / target.tiles_k, tile_k = blockIdx.x % target.tiles_k;
  const int64_t tile = blockIdx.z * (target.padded_lines / kExponentLines) * target.tiles_k + blockIdx.x;
  const unsigned char* const elements = target.tiles + tile * kExponentTileBytes;
  unsigned found = 0;  // a bit for each chunk
  for (int at = threadIdx.x; at < kExponentLines * kRuns; at += kOutlierThreads) {
    const int line = at / kRuns, run = at % kRuns;
    const int64_t k = tile_k * kExponentDepth + run * kExponentRun;
    if (tile_of_lines * kExponentLines + line >= lines || k >= depth) continue;
    alignas(16) uint16_t values[kExponentRun];
    *reinterpret_cast<uint4*>(values) = *reinterpret_cast<const uint4*>(elements + place_in_tile(line, run));
    bool is_outlier = false;
#pragma unroll
    for (int i = 0; i < kExponentRun; ++i) is_outlier |= values[i] == 0 && k + i < depth;
    found |= unsigned{is_outlier} << run / kRunsOfChunk;
  }
  unsigned outliers = 0;
  for (int chunk = 0; chunk < kExponentChunks; ++chunk) {
    outliers |= unsigned{__syncthreads_or(found >> chunk & 1) != 0} << chunk;
  }
  if (threadIdx.x == 0) target.outliers[tile] = static_cast<unsigned char>(outliers);
  for (int at = threadIdx.x; at < kExponentChunks * kExponentLines; at += kOutlierThreads) {
    if (outliers >> at / kExponentLines & 1) target.offsets[tile * kExponentChunks * kExponentLines + at] = left_out;
  }
}

/// Distance that represents zero: greater than the sum of any two distances, and twice it fits int32.
constexpr int32_t kNowhere = (1 << 30) - 1;

/// Returns the distance of an element from its line's best.
template <class Arithmetic>
__device__ __forceinline__ int32_t distance_of(const PackSource& source, int64_t instance, int64_t line, int64_t k,
                                               const int32_t* best) {
  using S = typename Arithmetic::Semiring;
  if (line >= source.lines || k >= source.depth) return kNowhere;
  const int64_t at = instance * source.batch_stride + line * source.line_stride + k * source.k_stride;
  const auto x = element_at<S>(source.data, source.storage, at);
  return x == S::zero ? kNowhere : static_cast<int32_t>(Arithmetic::distance(best[line], x));
}

struct OutlierProblem {
  PackSource a, b;
  const int32_t *best_a, *best_b;  ///< [instance][line]
  int64_t a_lines, b_lines;        ///< strides between batch entries
  const unsigned char* outliers;   ///< [instance][tile of the narrow operand's lines][tile of K], a bit for each chunk
  int64_t instance_tiles;
  bool is_b_narrow;
  int tiles_m, tiles_n, tiles_k;
};

/// C = C ⊕ the sums over the outlier chunks. A block computes a tile of 128 × 128 of C, and a thread 8 × 8.
template <class Arithmetic>
__global__ void __launch_bounds__(kOutlierThreads, 2)
    outlier_chunks_kernel(DeviceProblem whole, OutlierProblem problem, Arithmetic arithmetic) {
  using OnLevels = typename Arithmetic::OnLevels;
  constexpr int kTile = kExponentLines, kOwn = 8, kPadded = kTile + 4;
  static_assert(kOutlierThreads == (kTile / kOwn) * (kTile / kOwn));
  __shared__ alignas(16) int32_t a[kChunkSteps][kPadded], b[kChunkSteps][kPadded];
  const int64_t instance = blockIdx.z;
  const TilePlace place = locate_tile(blockIdx.x, problem.tiles_m, problem.tiles_n);
  const int64_t first_row = int64_t{place.m} * kTile, first_col = int64_t{place.n} * kTile;
  const unsigned char* const outliers = problem.outliers + instance * problem.instance_tiles +
                                        int64_t{problem.is_b_narrow ? place.n : place.m} * problem.tiles_k;
  const int32_t* const best_a = problem.best_a + instance * problem.a_lines;
  const int32_t* const best_b = problem.best_b + instance * problem.b_lines;
  const int own_row = threadIdx.x / (kTile / kOwn) * kOwn, own_col = threadIdx.x % (kTile / kOwn) * (kOwn / 2);
  const auto load = [&](int32_t (&to)[kChunkSteps][kPadded], const PackSource& source, int64_t first, int64_t k0,
                        const int32_t* best) {
    const bool along_k = source.k_stride < source.line_stride;
#pragma unroll 4
    for (int at = threadIdx.x; at < kChunkSteps * kTile; at += kOutlierThreads) {
      const int k = along_k ? at % kChunkSteps : at / kTile, line = along_k ? at / kChunkSteps : at % kTile;
      to[k][line] = distance_of<Arithmetic>(source, instance, first + line, k0 + k, best);
    }
  };
  int32_t least[kOwn][kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
#pragma unroll
    for (int j = 0; j < kOwn; ++j) least[i][j] = kNowhere;
  }
  bool has_any = false;
  for (int tile = 0; tile < problem.tiles_k; ++tile) {
    for (unsigned left = outliers[tile]; left != 0; left &= left - 1) {
      has_any = true;
      const int64_t k0 = int64_t{tile} * kExponentDepth + (__ffs(left) - 1) * kChunkSteps;
      __syncthreads();
      load(a, problem.a, first_row, k0, best_a);
      load(b, problem.b, first_col, k0, best_b);
      __syncthreads();
#pragma unroll 4
      for (int k = 0; k < kChunkSteps; ++k) {
        alignas(16) int32_t own_a[kOwn], own_b[kOwn];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          // A thread's columns are two groups of 4 neighbours, so that the reads of a warp are in different banks.
          reinterpret_cast<int4*>(own_a)[half] = *reinterpret_cast<const int4*>(&a[k][own_row + half * 4]);
          reinterpret_cast<int4*>(own_b)[half] = *reinterpret_cast<const int4*>(&b[k][own_col + half * (kTile / 2)]);
        }
#pragma unroll
        for (int i = 0; i < kOwn; ++i) {
#pragma unroll
          for (int j = 0; j < kOwn; ++j) least[i][j] = __viaddmin_s32(own_a[i], own_b[j], least[i][j]);
        }
      }
    }
  }
  if (!has_any) return;
  const Epilogue<Arithmetic> epilogue(whole, arithmetic, instance);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int64_t row = first_row + own_row + i;
    if (row >= whole.m) continue;
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      const int64_t col = first_col + own_col + j % (kOwn / 2) + j / (kOwn / 2) * (kTile / 2);
      if (col >= whole.n || least[i][j] >= kNowhere) continue;
      const int32_t best = wrapping_add(best_a[row], best_b[col]);
      epilogue.store(row, col, wrapping_add(best, OnLevels::maximizes ? -least[i][j] : least[i][j]));
    }
  }
}

}  // namespace mpmml::cuda
