// Packing for the exponent families. A first pass finds the best element of each line (row of A, column of B). If the
// arithmetic counts distances within chunks of K, it also finds the best element of each chunk. A second pass writes
// tiles of powers of two in the layout of shared memory.
#pragma once
#include "core/algebra/arithmetic.h"
#include "core/rounding.h"
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/packing.cuh"
#include "cuda/kernels/reduce.cuh"
#include "cuda/kernels/warpgroup.cuh"

namespace mpmml::cuda {

constexpr int kExponentLines = 128;  ///< lines per tile
constexpr int kExponentDepth = 64;   ///< elements of a tile along K: lines of 128 bytes
constexpr int kExponentTileBytes = kExponentLines * kTileLineBytes;
constexpr int kChunkPlaces = 32;  ///< elements along K that one tensor-core sum covers
constexpr int kExponentChunks = kExponentDepth / kChunkPlaces;
/// Returns the number of lines padded to whole tiles.
MPMML_HOST_DEVICE constexpr int64_t padded_lines(int64_t lines) { return round_up(lines, int64_t{kExponentLines}); }
/// Number of k-steps per tile. If a sum must have fewer steps than kChunkPlaces, the last element of each chunk is
/// zero.
template <class Arithmetic>
constexpr int kTileSteps = kExponentChunks * Arithmetic::kScale.steps;

/// Outputs of packing an operand. Lines are padded to whole tiles.
struct ExponentTarget {
  unsigned char* tiles;  ///< [instance][tile of lines][tile of K] of 128 lines × 64 elements
  int32_t* best;         ///< [instance][line]: level of the line's best element
  int32_t* offsets;      ///< [instance][tile of lines][tile of K][chunk][line]: chunk's exponents from the line's
  uint16_t* halves;      ///< `offsets` as offset_in_halves(), in the order of place_of_half()
  unsigned char*
      outliers;  ///< [instance][tile of lines][tile of K]: a bit for each outlier chunk, if these are left out
  int64_t padded_lines;
  int tiles_k;

  ExponentTarget from(int64_t instance) const {
    const int64_t tiles = instance * padded_lines / kExponentLines * tiles_k;
    ExponentTarget part = *this;
    part.tiles += tiles * kExponentTileBytes;
    part.best += instance * padded_lines;
    part.offsets += tiles * kExponentChunks * kExponentLines;
    part.halves += tiles * kExponentChunks * kExponentLines;
    part.outliers += tiles;
    return part;
  }
};

/// Packed operand as a kernel reads it.
struct ExponentOperand {
  const unsigned char* tiles;
  const int32_t *best, *offsets;
  const uint16_t* halves;
  const unsigned char* outliers;
  int64_t instance_tiles, instance_lines;  ///< strides between batch entries; 0 if shared

  ExponentOperand from(int64_t instance) const {
    ExponentOperand part = *this;
    part.tiles += instance * instance_tiles * kExponentTileBytes;
    part.best += instance * instance_lines;
    part.offsets += instance * instance_tiles * kExponentChunks * kExponentLines;
    part.halves += instance * instance_tiles * kExponentChunks * kExponentLines;
    part.outliers += instance * instance_tiles;
    return part;
  }
};

/// Returns the index of a line's offset among the offsets of its tile. With the accumulator layout of wgmma, a thread
/// has columns 8i + 2t and 8i + 2t + 1; the offsets of four consecutive i are adjacent, so that one vector load reads
/// them.
MPMML_HOST_DEVICE constexpr int place_of_half(bool is_a, int line) {
  const int i = line / 8, t = line % 8 / 2;
  return is_a ? line : ((i / 4 * 4 + t) * 4 + i % 4) * 2 + line % 2;
}

/// Encodes the elements of one operand as exponents.
template <class Arithmetic>
struct EncodeExponents {
  using S = typename Arithmetic::Semiring;
  using OnLevels = typename Arithmetic::OnLevels;

  Levels<typename S::Element> levels;
  int top;       ///< greatest exponent, from ExponentScale
  int32_t bias;  ///< bias of offsets; only A's offsets include it
  bool is_a;

  static EncodeExponents of(const Arithmetic& arithmetic, Side side) {
    const bool is_a = side == Side::kA;
    return {is_a ? arithmetic.levels_a : arithmetic.levels_b,
            is_a ? Arithmetic::kScale.top_a : Arithmetic::kScale.top_b, is_a ? Arithmetic::kBias : 0, is_a};
  }
  template <class Stored>
  __device__ __forceinline__ int32_t level(Stored x) const {
    return levels.template of<S>(widened<S>(x));
  }
  __device__ __forceinline__ uint32_t pair(int32_t first, int32_t second, int32_t best) const {
    return Arithmetic::encode(first, best, top) | uint32_t{Arithmetic::encode(second, best, top)} << 16;
  }
  /// Returns the offset of a chunk from the levels of its best element and of its line's best element.
  __device__ __forceinline__ int32_t offset(int32_t best_of_chunk, int32_t best_of_line) const {
    if (best_of_chunk == OnLevels::zero) return bias - kMaxDistance;
    return bias - Arithmetic::kScale.scale * static_cast<int32_t>(Arithmetic::distance(best_of_line, best_of_chunk));
  }
  __device__ __forceinline__ uint16_t half_offset(int32_t best_of_chunk, int32_t best_of_line) const {
    return best_of_chunk == OnLevels::zero ? 0 : offset_in_halves(Arithmetic::distance(best_of_line, best_of_chunk));
  }
};

constexpr int kExponentRun = 8;  ///< elements that a thread packs at once: 16 bytes

/// Loads the levels of elements k to k + 7 of a line; they are zero past the end of K, and from `count` on. If
/// `is_dense`, the elements are contiguous, and runs begin at multiples of 16 bytes.
template <class Encode, class Stored>
__device__ __forceinline__ void load_run(const Encode& encode, const Stored* line, int64_t k, const PackSource& source,
                                         bool is_dense, int32_t (&levels)[kExponentRun], int count = kExponentRun) {
  if (is_dense && k + kExponentRun <= source.depth) {
    alignas(16) Stored run[kExponentRun];
    constexpr int kWords = kExponentRun * sizeof(Stored) / sizeof(uint4);
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      reinterpret_cast<uint4*>(run)[word] = __ldg(reinterpret_cast<const uint4*>(line + k) + word);
    }
#pragma unroll
    for (int i = 0; i < kExponentRun; ++i) levels[i] = encode.level(run[i]);
  } else {
#pragma unroll
    for (int i = 0; i < kExponentRun; ++i) {
      const bool is_there = i < count && k + i < source.depth;
      levels[i] = is_there ? encode.level(line[(k + i) * source.k_stride]) : Encode::OnLevels::zero;
    }
  }
}

template <class OnLevels>
__device__ __forceinline__ int32_t best_of(const int32_t (&levels)[kExponentRun]) {
  int32_t best = OnLevels::zero;
#pragma unroll
  for (int i = 0; i < kExponentRun; ++i) best = OnLevels::combine(best, levels[i]);
  return best;
}

constexpr int kBestThreadsAlong = 256, kBestThreadsAcross = 1024;

/// Computes best[line] for lines that are contiguous along K, with one warp per line.
template <class Encode, class Stored>
__global__ void __launch_bounds__(kBestThreadsAlong)
    exponent_best_along(PackSource source, ExponentTarget target, Encode encode, bool is_dense) {
  using OnLevels = typename Encode::OnLevels;
  const int lane = threadIdx.x % 32;
  const int64_t line = int64_t{blockIdx.x} * (kBestThreadsAlong / 32) + threadIdx.x / 32;
  int32_t best = OnLevels::zero;
  if (line < source.lines) {
    const auto* from =
        static_cast<const Stored*>(source.data) + blockIdx.z * source.batch_stride + line * source.line_stride;
#pragma unroll 4
    for (int64_t k = lane * kExponentRun; k < source.depth; k += 32 * kExponentRun) {
      int32_t levels[kExponentRun];
      load_run(encode, from, k, source, is_dense, levels);
      best = OnLevels::combine(best, best_of<OnLevels>(levels));
    }
  }
  best = reduce_warp(best, [](int32_t x, int32_t y) { return OnLevels::combine(x, y); });
  if (lane == 0) target.best[blockIdx.z * target.padded_lines + line] = best;
}

/// Computes best[line] for lines that are stored across K, with one block per 32 lines.
template <class Encode, class Stored>
__global__ void __launch_bounds__(kBestThreadsAcross)
    exponent_best_across(PackSource source, ExponentTarget target, Encode encode) {
  using OnLevels = typename Encode::OnLevels;
  constexpr int kWarps = kBestThreadsAcross / 32;
  __shared__ int32_t found[kWarps][33];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t line = int64_t{blockIdx.x} * 32 + lane;
  int32_t best = OnLevels::zero;
  if (line < source.lines) {
    const auto* from =
        static_cast<const Stored*>(source.data) + blockIdx.z * source.batch_stride + line * source.line_stride;
#pragma unroll 8
    for (int64_t k = warp; k < source.depth; k += kWarps) {
      best = OnLevels::combine(best, encode.level(from[k * source.k_stride]));
    }
  }
  found[warp][lane] = best;
  __syncthreads();
  best = found[lane][warp];
  best = reduce_warp(best, [](int32_t x, int32_t y) { return OnLevels::combine(x, y); });
  if (lane == 0) target.best[blockIdx.z * target.padded_lines + int64_t{blockIdx.x} * 32 + warp] = best;
}

constexpr int kExponentPackLines = 32;
constexpr int kExponentPackThreads = 256;

/// Writes tiles. A block writes 32 lines of a tile at a time, and a thread 8 elements along K.
template <class Arithmetic, class Stored, bool along_k>
__global__ void __launch_bounds__(kExponentPackThreads)
    exponent_pack_kernel(PackSource source, ExponentTarget target, EncodeExponents<Arithmetic> encode, bool is_dense) {
  using OnLevels = typename Arithmetic::OnLevels;
  constexpr int kRuns = kExponentDepth / kExponentRun;  // runs per line of a tile
  constexpr int kRunsOfChunk = kChunkPlaces / kExponentRun, kSteps = Arithmetic::kScale.steps;
  static_assert(kChunkPlaces - kExponentRun < kSteps && kSteps <= kChunkPlaces, "every run has a step");
  __shared__ uint4 image[along_k ? 1 : kExponentPackLines * kRuns];
  __shared__ int32_t bests[along_k ? 1 : kRuns][kExponentPackLines];
  const int own_line = along_k ? threadIdx.x / kRuns : threadIdx.x % kExponentPackLines;
  const int run = along_k ? threadIdx.x % kRuns : threadIdx.x / kExponentPackLines;
  const int64_t first_line = int64_t{blockIdx.x} * kExponentPackLines, line = first_line + own_line;
  const auto* from =
      static_cast<const Stored*>(source.data) + blockIdx.z * source.batch_stride + line * source.line_stride;
  const int32_t best_of_line = target.best[blockIdx.z * target.padded_lines + line];
  const int64_t row_of_tiles = (blockIdx.z * target.padded_lines + first_line) / kExponentLines * target.tiles_k;
  const int line_in_tile = static_cast<int>(first_line % kExponentLines) + own_line;
  const int first_step = run / kRunsOfChunk * kSteps + run % kRunsOfChunk * kExponentRun;
  const int count = min(kExponentRun, kSteps - run % kRunsOfChunk * kExponentRun);
  for (int tile = blockIdx.y; tile < target.tiles_k; tile += gridDim.y) {
    const int64_t k = int64_t{tile} * kTileSteps<Arithmetic> + first_step;
    int32_t levels[kExponentRun];
    if (line < source.lines) {
      load_run(encode, from, k, source, is_dense && kSteps == kChunkPlaces, levels, count);
    } else {
#pragma unroll
      for (int i = 0; i < kExponentRun; ++i) levels[i] = OnLevels::zero;
    }
    int32_t best = best_of_line;
    if constexpr (Arithmetic::kByChunks) {
      best = best_of<OnLevels>(levels);
      if constexpr (along_k) {
#pragma unroll
        for (int offset = 1; offset < kRunsOfChunk; offset *= 2) {
          best = OnLevels::combine(best, __shfl_xor_sync(~0u, best, offset));
        }
      } else {
        bests[run][own_line] = best;
        __syncthreads();
#pragma unroll
        for (int other = 0; other < kRunsOfChunk; ++other) {
          best = OnLevels::combine(best, bests[run / kRunsOfChunk * kRunsOfChunk + other][own_line]);
        }
      }
      if (run % kRunsOfChunk == 0) {
        const int64_t first = ((row_of_tiles + tile) * kExponentChunks + run / kRunsOfChunk) * kExponentLines;
        target.offsets[first + line_in_tile] = encode.offset(best, best_of_line);
        target.halves[first + place_of_half(encode.is_a, line_in_tile)] = encode.half_offset(best, best_of_line);
      }
    }
    const uint4 packed = make_uint4(encode.pair(levels[0], levels[1], best), encode.pair(levels[2], levels[3], best),
                                    encode.pair(levels[4], levels[5], best), encode.pair(levels[6], levels[7], best));
    unsigned char* const to = target.tiles + (row_of_tiles + tile) * kExponentTileBytes;
    if constexpr (along_k) {
      *reinterpret_cast<uint4*>(to + place_in_tile(line_in_tile, run)) = packed;
    } else {
      // Lines of 128 bytes are consecutive in a tile, so the block's part of it is contiguous.
      image[place_in_tile(own_line, run) / sizeof(uint4)] = packed;
      __syncthreads();
      reinterpret_cast<uint4*>(to + first_line % kExponentLines * kTileLineBytes)[threadIdx.x] = image[threadIdx.x];
      __syncthreads();
    }
  }
}

}  // namespace mpmml::cuda
