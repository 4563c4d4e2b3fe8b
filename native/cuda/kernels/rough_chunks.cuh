// Chunks of K that are rough: lines of the narrow operand have zero there, or spread by too much (core/range.h, rough_share).
// The exponent families leave them out, tile by tile, and these kernels add their steps to C in integers.
#pragma once
#include "core/arithmetic.h"
#include "cuda/kernels/epilogue.cuh"
#include "cuda/kernels/exponent_packing.cuh"
#include "cuda/kernels/kernel.h"
#include "cuda/kernels/packed.cuh"
#include "cuda/runtime/error.h"

namespace mpmml::cuda {

constexpr int kRoughThreads = 256;

/// Finds the rough chunks of an operand's tiles, and puts their offsets so far away that they decide nothing. Packing wrote
/// 0 for each element that is zero or too far from the best.
static __global__ void __launch_bounds__(kRoughThreads)
    leave_out_rough_kernel(ExponentTarget target, int64_t lines, int64_t depth, int32_t left_out) {
  constexpr int kRuns = kExponentDepth / kExponentRun, kRunsOfChunk = kChunkSteps / kExponentRun;
  const int64_t tile_of_lines = blockIdx.x / target.tiles_k, tile_k = blockIdx.x % target.tiles_k;
  const int64_t tile = blockIdx.z * (target.padded_lines / kExponentLines) * target.tiles_k + blockIdx.x;
  const unsigned char* const elements = target.tiles + tile * kExponentTileBytes;
  unsigned found = 0;  // a bit for each chunk
  for (int at = threadIdx.x; at < kExponentLines * kRuns; at += kRoughThreads) {
    const int line = at / kRuns, run = at % kRuns;
    const int64_t k = tile_k * kExponentDepth + run * kExponentRun;
    if (tile_of_lines * kExponentLines + line >= lines || k >= depth) continue;
    alignas(16) uint16_t values[kExponentRun];
    *reinterpret_cast<uint4*>(values) = *reinterpret_cast<const uint4*>(elements + place_in_tile(line, run));
    bool is_rough = false;
#pragma unroll
    for (int i = 0; i < kExponentRun; ++i) is_rough |= values[i] == 0 && k + i < depth;
    found |= unsigned{is_rough} << run / kRunsOfChunk;
  }
  unsigned rough = 0;
  for (int chunk = 0; chunk < kExponentChunks; ++chunk) {
    rough |= unsigned{__syncthreads_or(found >> chunk & 1) != 0} << chunk;
  }
  if (threadIdx.x == 0) target.rough[tile] = static_cast<unsigned char>(rough);
  for (int at = threadIdx.x; at < kExponentChunks * kExponentLines; at += kRoughThreads) {
    if (rough >> at / kExponentLines & 1) target.offsets[tile * kExponentChunks * kExponentLines + at] = left_out;
  }
}

/// Queues the packing of a launch's operand, and leaves out its rough chunks if it is the narrow one.
template <class Arithmetic>
void pack_without_rough(const Launch& launch, Side side) {
  pack_exponent_operand<Arithmetic>(launch, side);
  if constexpr (Arithmetic::kByChunks) {
    const auto arithmetic = Arithmetic::for_operands(launch.path, launch.range_a, launch.range_b);
    const bool is_a = side == Side::kA;
    if (!(is_a ? arithmetic.is_a_rough : arithmetic.is_b_rough)) return;
    const ExponentTarget whole = exponent_target<Arithmetic>(launch, side);
    const int64_t items = exponent_items(launch, side), tiles = whole.padded_lines / kExponentLines * whole.tiles_k;
    for (int64_t first = 0; first < items; first += kMostBlocks) {
      const dim3 grid(static_cast<unsigned>(tiles), 1, static_cast<unsigned>(std::min(kMostBlocks, items - first)));
      leave_out_rough_kernel<<<grid, kRoughThreads, 0, launch.stream>>>(
          whole.from(first), is_a ? launch.m : launch.n, launch.k,
          EncodeExponents<Arithmetic>::of(arithmetic, side).bias - kMostDistance - kRoughPenalty);
    }
    MPMML_CUDA(cudaGetLastError());
  }
}

/// The kernel of an exponent family's tiles, with or without witnesses.
template <class Config, class Arithmetic>
constexpr Kernel exponent_family_kernel() {
  Kernel kernel{};
  kernel.paths = paths_of<Arithmetic>();
  kernel.takes_int16 = true;
  kernel.runs_on = Config::kRunsOn;
  kernel.launch = &Config::template launch<Config, Arithmetic>;
  kernel.function = &Config::template function<Config, Arithmetic>;
  kernel.packed_bytes = &exponent_bytes<Arithmetic>;
  kernel.pack = &pack_without_rough<Arithmetic>;
  kernel.shape = {Config::BM,
                  Config::BN,
                  kTileSteps<Arithmetic>,
                  Config::kThreads,
                  Config::template kSharedBytes<Arithmetic>,
                  Config::template steps_per_clock<Config, Arithmetic>(),
                  Config::kFullSpeedFrom};
  return kernel;
}

/// A distance that stands for zero: farther than any sum of two, and two of it fit int32.
constexpr int32_t kNowhere = (1 << 30) - 1;

/// The distance of an element from its line's best.
template <class Arithmetic>
__device__ __forceinline__ int32_t distance_of(const PackSource& source, int64_t instance, int64_t line, int64_t k,
                                               const int32_t* best) {
  using S = typename Arithmetic::Semiring;
  if (line >= source.lines || k >= source.depth) return kNowhere;
  const int64_t at = instance * source.batch_stride + line * source.line_stride + k * source.k_stride;
  const int32_t x = source.storage == Storage::kInt16 ? widened<S>(static_cast<const int16_t*>(source.data)[at])
                                                      : static_cast<const int32_t*>(source.data)[at];
  return x == S::zero ? kNowhere : static_cast<int32_t>(Arithmetic::distance(best[line], x));
}

struct RoughProblem {
  PackSource a, b;
  const int32_t *best_a, *best_b;  ///< [instance][line]
  int64_t a_lines, b_lines;        ///< from one instance to the next
  const unsigned char* rough;      ///< [instance][tile of the narrow operand's lines][tile of K], a bit for each chunk
  int64_t instance_tiles;
  bool is_b_narrow;
  int tiles_m, tiles_n, tiles_k;
};

/// C = C ⊕ the sums over the chunks that were left out. A block computes 128 × 128 of C, a thread 8 × 8.
template <class Arithmetic>
__global__ void __launch_bounds__(kRoughThreads, 2)
    rough_chunks_kernel(Launch launch, RoughProblem problem, Arithmetic arithmetic) {
  using OnLevels = typename Arithmetic::OnLevels;
  constexpr int kTile = kExponentLines, kOwn = 8, kPadded = kTile + 4;
  static_assert(kRoughThreads == (kTile / kOwn) * (kTile / kOwn));
  __shared__ alignas(16) int32_t a[kChunkSteps][kPadded], b[kChunkSteps][kPadded];
  const int64_t instance = blockIdx.z;
  const TilePlace place = locate_tile(blockIdx.x, problem.tiles_m, problem.tiles_n);
  const int64_t first_row = int64_t{place.m} * kTile, first_col = int64_t{place.n} * kTile;
  const unsigned char* const rough = problem.rough + instance * problem.instance_tiles +
                                     int64_t{problem.is_b_narrow ? place.n : place.m} * problem.tiles_k;
  const int32_t* const best_a = problem.best_a + instance * problem.a_lines;
  const int32_t* const best_b = problem.best_b + instance * problem.b_lines;
  const int own_row = threadIdx.x / (kTile / kOwn) * kOwn, own_col = threadIdx.x % (kTile / kOwn) * (kOwn / 2);
  const auto load = [&](int32_t (&to)[kChunkSteps][kPadded], const PackSource& source, int64_t first, int64_t k0,
                        const int32_t* best) {
    const bool along_k = source.k_stride < source.line_stride;
#pragma unroll 4
    for (int at = threadIdx.x; at < kChunkSteps * kTile; at += kRoughThreads) {
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
    for (unsigned left = rough[tile]; left != 0; left &= left - 1) {
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
          // A thread's columns are 4 and 4 neighbours, so that a warp's reads are of different banks.
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
  const Epilogue<Arithmetic> epilogue(launch, arithmetic, instance);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int64_t row = first_row + own_row + i;
    if (row >= launch.m) continue;
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      const int64_t col = first_col + own_col + j % (kOwn / 2) + j / (kOwn / 2) * (kTile / 2);
      if (col >= launch.n || least[i][j] >= kNowhere) continue;
      const int32_t best = wrapping_add(best_a[row], best_b[col]);
      epilogue.store(row, col, wrapping_add(best, OnLevels::maximizes ? -least[i][j] : least[i][j]));
    }
  }
}

/// Queues that for the instances of `part`, whose packed operands these are.
template <class Arithmetic>
void add_rough_chunks(const Launch& part, const ExponentOperand& a, const ExponentOperand& b,
                      const Arithmetic& arithmetic) {
  if (!arithmetic.is_a_rough && !arithmetic.is_b_rough) return;
  const ExponentOperand& narrow = arithmetic.is_b_rough ? b : a;
  const auto tiles = [](int64_t size, int of_tile) { return static_cast<int>(ceil_div(size, int64_t{of_tile})); };
  const RoughProblem problem{pack_source(part, Side::kA),
                             pack_source(part, Side::kB),
                             a.best,
                             b.best,
                             a.instance_lines,
                             b.instance_lines,
                             narrow.rough,
                             narrow.instance_tiles,
                             arithmetic.is_b_rough,
                             tiles(part.m, kExponentLines),
                             tiles(part.n, kExponentLines),
                             tiles(part.k, kExponentDepth)};
  Launch launch = part;
  launch.c0 = read_only(part.c);
  const int64_t blocks = int64_t{problem.tiles_m} * problem.tiles_n;
  const dim3 grid(static_cast<unsigned>(blocks), 1, static_cast<unsigned>(part.batch));
  rough_chunks_kernel<Arithmetic><<<grid, kRoughThreads, 0, part.stream>>>(launch, problem, arithmetic);
  MPMML_CUDA(cudaGetLastError());
}

}  // namespace mpmml::cuda
