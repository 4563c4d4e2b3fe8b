// The warp-exponent family: products of the exponent family by warp-level mma instructions (Ampere, Ada, Blackwell;
// Hopper, too, at a lower rate than with wgmma). Operands, proofs and results are those of the exponent family: see
// exponent.cuh and docs/tensor-cores.md.
//
// A block computes a tile of C of BM × BN, and each warp WM × WN of it with mma instructions of 16 × 8 × 16. A
// multistage pipeline of asynchronous copies moves packed tiles to shared memory without changing their layout, whose
// swizzle avoids bank conflicts. A warp keeps the fragments of A for 32 k-steps in registers, and iterates over B by 8
// columns at a time.
//
// Fragments: PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions", mma.m16n8k16 with .bf16, and ldmatrix.
#pragma once
#include "core/algebra/arithmetic.h"
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/epilogue.cuh"
#include "cuda/kernels/exponent_packing.cuh"
#include "cuda/kernels/exponent_witness.cuh"
#include "cuda/kernels/packed.cuh"

namespace mpmml::cuda {

struct WarpExponentProblem {
  ExponentOperand a, b;
  int tiles_k;
};

template <class Config, class Arithmetic>
__global__ void warpexponent_kernel(DeviceProblem problem, WarpExponentProblem operands, Arithmetic arithmetic);

template <int BM_, int BN_, int BK_, int WM_, int WN_, int kStages_>
struct WarpExponentTiles {
  static constexpr bool kFindsWitnesses = false, kIsWhole = true;
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, kStages = kStages_;
  static constexpr int kWarpsN = BN / WN, kThreads = 32 * (BM / WM) * kWarpsN;
  static constexpr int kTileBytes = 2 * kExponentTileBytes;
  static constexpr int kOperandOffsetBytes = kExponentChunks * kExponentLines * int{sizeof(int32_t)};
  /// Bytes for the chunk offsets of a stage, if distances are counted within chunks.
  template <class Arithmetic>
  static constexpr int kOffsetBytes = Arithmetic::kByChunks ? 2 * kOperandOffsetBytes : 0;
  template <class Arithmetic>
  static constexpr int kSharedBytes = kStages * (kTileBytes + kOffsetBytes<Arithmetic>);

  /// Blocks per multiprocessor: eight warps with 255 registers per thread, because a warp keeps 64 × 64 results.
  static constexpr int kBlocks = 256 / kThreads;

  static_assert(BM == kExponentLines && BN == kExponentLines && BK == kExponentDepth,
                "tiles are as packing writes them");
  static_assert(BM % WM == 0 && BN % WN == 0 && WM % 16 == 0 && WN % 8 == 0, "warps tile the block by instructions");
};

#if __CUDA_ARCH__ >= 800

/// Loads four matrices of 8 lines × 16 bytes (ldmatrix). Lane l provides the address of line l mod 8 of matrix l / 8.
__device__ __forceinline__ void load_matrices(uint32_t (&fragments)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(fragments[0]), "=r"(fragments[1]), "=r"(fragments[2]), "=r"(fragments[3])
               : "r"(address));
}

/// sums = before + a · b for 16 × 8 results over 16 k-steps. Lane 4g + t has columns 2t and 2t + 1 of the rows g, and
/// then g + 8.
__device__ __forceinline__ void multiply_add(float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                             const float (&before)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %11, %12, %13};"
      : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(before[0]), "f"(before[1]), "f"(before[2]),
        "f"(before[3]));
}

/// Returns the upper halves of two sums, which contain their exponents: bfloat16 without rounding.
__device__ __forceinline__ uint32_t upper_halves(const float* sums) {
  return __byte_perm(__float_as_uint(sums[0]), __float_as_uint(sums[1]), 0x7632);
}
/// Returns the maxima of nonnegative bfloat16 halves, whose order is the order of their bits.
__device__ __forceinline__ uint32_t combine_halves(uint32_t x, uint32_t y) {
#if __CUDA_ARCH__ >= 900
  return __vmaxu2(x, y);
#else
  asm("max.bf16x2 %0, %0, %1;" : "+r"(x) : "r"(y));
  return x;
#endif
}

__device__ __forceinline__ void copy_chunk(unsigned target, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target), "l"(from) : "memory");
}

#endif

template <class Config, class Arithmetic>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocks)
    warpexponent_kernel(DeviceProblem problem, WarpExponentProblem operands, Arithmetic arithmetic) {
#if __CUDA_ARCH__ >= 800
  constexpr int kStages = Config::kStages, kThreads = Config::kThreads;
  constexpr int kOffsetBytes = Config::template kOffsetBytes<Arithmetic>;
  constexpr int kInstructionsM = Config::WM / 16, kInstructionsN = Config::WN / 8;
  constexpr int kSteps = kChunkPlaces;  // k-steps whose fragments of A are in registers
  extern __shared__ __align__(1024) unsigned char memory[];
  // Layout: tiles of all stages, then their chunk offsets.
  const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(memory));
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int warp_m = warp / Config::kWarpsN * Config::WM, warp_n = warp % Config::kWarpsN * Config::WN;
  const int own_row = warp_m + lane / 4, own_col = warp_n + lane % 4 * 2;

  const TilePlace place =
      locate_tile(blockIdx.x, ceil_div(problem.m, int64_t{Config::BM}), ceil_div(problem.n, int64_t{Config::BN}));
  const Span rows = span_of_tile(place.m, Config::BM), cols = span_of_tile(place.n, Config::BN);
  bool has_results;
  const DepthTiles depth =
      depth_of_tile(problem, rows, cols, kTileSteps<Arithmetic>, {0, operands.tiles_k}, has_results);
  if (!has_results) return;
  const ExponentOperand &packed_a = operands.a, &packed_b = operands.b;
  const int64_t instance = blockIdx.z;
  const int tiles_k = depth.count;

  // Source addresses of this thread's share of the next tiles along K.
  const int64_t first_a = instance * packed_a.instance_tiles + int64_t{place.m} * operands.tiles_k + depth.first;
  const int64_t first_b = instance * packed_b.instance_tiles + int64_t{place.n} * operands.tiles_k + depth.first;
  const unsigned char* tile_a = packed_a.tiles + first_a * kExponentTileBytes + thread * 16;
  const unsigned char* tile_b = packed_b.tiles + first_b * kExponentTileBytes + thread * 16;
  const auto offsets_of = [&](const ExponentOperand& operand, int64_t first) {
    return reinterpret_cast<const unsigned char*>(operand.offsets) + first * kOffsetBytes / 2 + thread * 16;
  };
  const unsigned char *offset_a = offsets_of(packed_a, first_a), *offset_b = offsets_of(packed_b, first_b);
  const auto start = [&](int stage) {
    const unsigned target = shared + stage * Config::kTileBytes + thread * 16;
#pragma unroll
    for (int at = 0; at < kExponentTileBytes; at += 16 * kThreads) {
      copy_chunk(target + at, tile_a + at);
      copy_chunk(target + kExponentTileBytes + at, tile_b + at);
    }
    tile_a += kExponentTileBytes;
    tile_b += kExponentTileBytes;
    if constexpr (kOffsetBytes > 0) {
      static_assert(kOffsetBytes / 2 <= 16 * kThreads, "a copy for each thread");
      const unsigned offsets = shared + kStages * Config::kTileBytes + stage * kOffsetBytes + thread * 16;
      if (thread < kOffsetBytes / 2 / 16) {
        copy_chunk(offsets, offset_a);
        copy_chunk(offsets + kOffsetBytes / 2, offset_b);
      }
      offset_a += kOffsetBytes / 2;
      offset_b += kOffsetBytes / 2;
    }
  };
  const auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };

  // Within a tile, place_in_tile() swizzles the chunks of a line by an exclusive or with the line's index.
  const unsigned from_a = (warp_m + lane % 16) * kTileLineBytes + (((lane / 16) ^ (lane % 8)) << 4);
  const unsigned from_b = kExponentTileBytes + (warp_n + lane % 8) * kTileLineBytes + (((lane / 8) ^ (lane % 8)) << 4);

  // Words per accumulator fragment: full sums with chunk offsets or notes, otherwise only the upper halves of the sums,
  // two per word.
  constexpr int kWords = Arithmetic::kByChunks || Config::kFindsWitnesses ? 4 : 2;
  int best[kInstructionsM][kInstructionsN][kWords];
#pragma unroll
  for (int i = 0; i < kInstructionsM; ++i) {
#pragma unroll
    for (int j = 0; j < kInstructionsN; ++j) {
#pragma unroll
      for (int v = 0; v < kWords; ++v) best[i][j][v] = Arithmetic::kByChunks ? kLowest<int32_t> : 0;
    }
  }
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) {
    if (stage < tiles_k) start(stage);
    commit();
  }
  int reading = 0, writing = kStages - 1;
  for (int tile = 0; tile < tiles_k; ++tile) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
    __syncthreads();
    if (tile + kStages - 1 < tiles_k) start(writing);
    commit();
    const unsigned stage = shared + reading * Config::kTileBytes;
    [[maybe_unused]] const uint32_t mirrored = ExponentNote<Arithmetic>::kNumbers - (depth.first + tile);
    // Not unrolled, because it would need more registers than are available.
#pragma unroll 1
    for (int first = 0; first < kExponentDepth; first += kSteps) {
      uint32_t a[kInstructionsM][2][4];
#pragma unroll
      for (int i = 0; i < kInstructionsM; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          load_matrices(a[i][half], stage + (from_a ^ (first / 8 + 2 * half) << 4) + i * 16 * kTileLineBytes);
        }
      }
      [[maybe_unused]] int rows[kInstructionsM][2];
      [[maybe_unused]] const int32_t* offsets_b = nullptr;
      if constexpr (kOffsetBytes > 0) {
        const auto* const offsets_a =
            reinterpret_cast<const int32_t*>(memory + kStages * Config::kTileBytes + reading * kOffsetBytes) +
            first / kSteps * kExponentLines;
        offsets_b = offsets_a + kExponentChunks * kExponentLines + own_col;
#pragma unroll
        for (int i = 0; i < kInstructionsM; ++i) {
#pragma unroll
          for (int half = 0; half < 2; ++half) rows[i][half] = offsets_a[own_row + 16 * i + 8 * half];
        }
      }
      // Double buffering: the mma instructions of 8 columns are in flight while the sums of the previous 8 columns are
      // combined.
      float sums[2][kInstructionsM][4];
      uint32_t b[2][4];
      [[maybe_unused]] int2 cols[2];
      const auto load_columns = [&](int j) {
        load_matrices(b[j % 2], stage + (from_b ^ (first / 8) << 4) + j * 8 * kTileLineBytes);
      };
      const auto multiply = [&](int j) {
        if constexpr (Arithmetic::kByChunks) cols[j % 2] = *reinterpret_cast<const int2*>(offsets_b + 8 * j);
        if (j + 1 < kInstructionsN) load_columns(j + 1);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#pragma unroll
          for (int i = 0; i < kInstructionsM; ++i) {
            float (&sum)[4] = sums[j % 2][i];
            const float (&so_far)[4] = sum;
            const float nothing[4] = {};
            multiply_add(sum, a[i][half], b[j % 2][2 * half], b[j % 2][2 * half + 1], half > 0 ? so_far : nothing);
          }
        }
      };
      const auto combine = [&](int j) {
#pragma unroll
        for (int i = 0; i < kInstructionsM; ++i) {
          const float (&own)[4] = sums[j % 2][i];
#pragma unroll
          for (int v = 0; v < kWords; ++v) {
            int& result = best[i][j][v];
            if constexpr (Arithmetic::kByChunks) {
              constexpr int kExponentUp = 1 << 9;  // as in exponent.cuh
              const int exponent = __mulhi(__float_as_int(own[v]), kExponentUp) + rows[i][v / 2];
              result = __viaddmax_s32(exponent, v % 2 ? cols[j % 2].y : cols[j % 2].x, result);
            } else if constexpr (Config::kFindsWitnesses) {
              result = max(result, ExponentNote<Arithmetic>::of(__float_as_int(own[v]), mirrored));
            } else {
              result = combine_halves(result, upper_halves(own + 2 * v));
            }
          }
        }
      };
      load_columns(0);
      multiply(0);
#pragma unroll
      for (int j = 1; j < kInstructionsN; ++j) {
        multiply(j);
        combine(j - 1);
      }
      combine(kInstructionsN - 1);
    }
    reading = reading + 1 == kStages ? 0 : reading + 1;
    writing = writing + 1 == kStages ? 0 : writing + 1;
  }

  const int64_t first_row = rows.first + own_row, first_col = cols.first + own_col;
  const int32_t* const best_a = packed_a.best + instance * packed_a.instance_lines;
  const int32_t* const best_b = packed_b.best + instance * packed_b.instance_lines;
  if constexpr (Config::kFindsWitnesses) {
    const StoreNotes<Arithmetic> store(problem, arithmetic);
#pragma unroll
    for (int i = 0; i < kInstructionsM; ++i) {
      const int64_t row = store.quad.row(first_row + 16 * i);
#pragma unroll
      for (int j = 0; j < kInstructionsN; ++j) {
        const int64_t col = store.quad.col(first_col + 8 * j);
        store(row, col, best[i][j], best_a[row], best_b + col);
      }
    }
    return;
  }
  const auto decoded = [&](const int* words, int at, int32_t best_of_lines) {
    const int exponent = Arithmetic::kByChunks ? words[at] : (words[at / 2] >> (at % 2 ? 23 : 7)) & 0xff;
    return arithmetic.decode(exponent, best_of_lines);
  };
  const Epilogue<Arithmetic> epilogue(problem, arithmetic, blockIdx.z);
  const bool by_pairs = epilogue.stores_pairs(rows, cols);
#pragma unroll
  for (int i = 0; i < kInstructionsM; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = first_row + 16 * i + 8 * half;
      if (row >= problem.m) continue;
      const int32_t best_of_row = best_a[row];
#pragma unroll
      for (int j = 0; j < kInstructionsN; ++j) {
        const int64_t col = first_col + 8 * j;
        if (col >= problem.n) continue;
        // Lines are padded to whole tiles, so the next column has a best element.
        const int2 best_of_cols = *reinterpret_cast<const int2*>(best_b + col);
        const int32_t sums[2] = {decoded(best[i][j], 2 * half, wrapping_add(best_of_row, best_of_cols.x)),
                                 decoded(best[i][j], 2 * half + 1, wrapping_add(best_of_row, best_of_cols.y))};
        if (by_pairs) {
          epilogue.store_pair(epilogue.target(row) + col, col + 1 < problem.n ? 2 : 1, sums[0], sums[1]);
        } else {
          epilogue.store(row, col, sums[0]);
          epilogue.store(row, col + 1, sums[1]);
        }
      }
    }
  }
#endif
}

}  // namespace mpmml::cuda
