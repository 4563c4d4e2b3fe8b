// The exponent family: max-plus and min-plus of matrices with few distinct levels on Hopper's tensor cores. Elements
// are encoded as powers of two, so that ⊗ is a product, and the exponent of a sum gives its best term (ExponentScale in
// core/algebra/value_range.h; docs/tensor-cores.md has the proofs).
//
// Packing subtracts the best element of each line (row of A, column of B). It writes tiles in the layout of shared
// memory, so that one bulk copy by one thread moves up to 128 lines. A block computes 128 rows and 64 to 144 columns of
// C and is warp-specialized: one producer warpgroup copies, and one consumer warpgroup per 64 rows multiplies. The
// accumulators of every chunk of K start from 0. Chunks are combined by the integer maximum of their bits, because
// nonnegative floats are ordered like integers.
#pragma once
#include "core/algebra/arithmetic.h"
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/epilogue.cuh"
#include "cuda/kernels/exponent_packing.cuh"
#include "cuda/kernels/exponent_witness.cuh"
#include "cuda/kernels/packed.cuh"
#include "cuda/kernels/warpgroup.cuh"

namespace mpmml::cuda {

/// Sizes in tiles.
struct ExponentProblem {
  ExponentOperand a, b;
  int tiles_m, tiles_n, tiles_k;
  uint32_t one;  ///< 1; see combine_exponents
};

/// Variant of a configuration for Arithmetic::in_halves: two results per accumulator word.
template <class Config>
struct InHalves : Config {
  static constexpr bool kInHalves = true;
};

template <class Config, class Arithmetic>
__global__ void exponent_kernel(DeviceProblem problem, ExponentProblem operands, Arithmetic arithmetic);

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// acc = a · b, or acc + a · b if `adds`: 64 rows and two columns for each accumulator, over 16 steps. The last
/// parameters are the operand numbers of a, b and `adds` in the instruction's text.
#define MPMML_MULTIPLY_TILES(columns, accumulators, a_place, b_place, adds_place)                      \
  template <bool adds>                                                                                 \
  __device__ __forceinline__ void multiply_tiles(float (&acc)[accumulators], uint64_t a, uint64_t b) { \
    asm volatile(                                                                                      \
        "{\n"                                                                                          \
        ".reg .pred adds;\n"                                                                           \
        "setp.ne.b32 adds, " adds_place                                                                \
        ", 0;\n"                                                                                       \
        "wgmma.mma_async.sync.aligned.m64n" #columns                                                   \
        "k16.f32.bf16.bf16 "                                                                           \
        "{" MPMML_##accumulators##_PLACES "}, " a_place ", " b_place                                   \
                                          ", adds, 1, 1, 0, 0;\n"                                      \
                                          "}\n"                                                        \
        : MPMML_##accumulators##_ACCUMULATORS("+f", acc)                                               \
        : "l"(a), "l"(b), "n"(adds));                                                                  \
  }
MPMML_MULTIPLY_TILES(64, 32, "%32", "%33", "%34")
MPMML_MULTIPLY_TILES(128, 64, "%64", "%65", "%66")
MPMML_MULTIPLY_TILES(144, 72, "%72", "%73", "%74")
#undef MPMML_MULTIPLY_TILES

/// acc = the sums of a chunk of K. The addresses in matrix descriptors are in units of 16 bytes.
template <int kCount>
__device__ __forceinline__ void multiply_chunk(float (&acc)[kCount], uint64_t a, uint64_t b) {
  multiply_tiles<false>(acc, a, b);
#pragma unroll
  for (int at = 2; at < kChunkPlaces / 8; at += 2) multiply_tiles<true>(acc, a + at, b + at);
}

/// Combines the results with the sums of two chunks, comparing the bits of nonnegative floats as integers.
template <int kCount>
__device__ __forceinline__ void combine_bits(int (&best)[kCount], const float (&first)[kCount],
                                             const float (&second)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    best[i] = __vimax3_s32(best[i], __float_as_int(first[i]), __float_as_int(second[i]));
  }
}

/// Combines the notes of the results (ExponentNote) with the sums of two chunks of a tile.
template <class Arithmetic>
__device__ __forceinline__ void combine_notes(int (&best)[64], const float (&first)[64], const float (&second)[64],
                                              uint32_t mirrored) {
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int sum = max(__float_as_int(first[i]), __float_as_int(second[i]));
    best[i] = max(best[i], ExponentNote<Arithmetic>::of(sum, mirrored));
  }
}

/// Combines the results with the sums of one chunk: their exponents with the offsets of the chunk's lines, from `offsets_a`
/// for the thread's rows and from `offsets_b` for its columns.
__device__ __forceinline__ void combine_exponents(int (&best)[64], const float (&sums)[64], const int32_t* offsets_a,
                                                  const int32_t* offsets_b) {
  constexpr int kExponentUp = 1 << 9;  // the upper half of a product with it is the exponent; a shift would cost more
  const int rows[2] = {offsets_a[0], offsets_a[8]};
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int2 cols = *reinterpret_cast<const int2*>(offsets_b + 8 * i);
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      const int exponent = __mulhi(__float_as_int(sums[4 * i + v]), kExponentUp) + rows[v / 2];
      best[4 * i + v] = __viaddmax_s32(exponent, v % 2 ? cols.y : cols.x, best[4 * i + v]);
    }
  }
}

/// Combines exponents like the overload above, but two per word, with offsets from offset_in_halves(). best[2i] has the
/// columns 8i and 8i + 1 of the thread's first row. `offsets_a` points to the offsets of its first row, `offsets_b` to
/// the offsets of its first columns in the order of place_of_half(). `one` is 1 but unknown to the compiler, which
/// would otherwise add the offsets on the busiest pipe.
__device__ __forceinline__ void combine_exponents(int (&best)[32], const float (&sums)[64], const uint16_t* offsets_a,
                                                  const uint16_t* offsets_b, uint32_t one) {
  constexpr uint32_t kBoth = 0x10001;
  const uint32_t rows[2] = {offsets_a[0] * kBoth, offsets_a[8] * kBoth};
  uint4 all_cols[4];
#pragma unroll
  for (int part = 0; part < 4; ++part) all_cols[part] = *reinterpret_cast<const uint4*>(offsets_b + 32 * part);
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const uint32_t cols = reinterpret_cast<const uint32_t*>(all_cols)[i];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      // Upper bytes of two sums (all bits of the exponent but the lowest), extended by zeros, their replicated signs.
      uint32_t exponents;
      asm("prmt.b32 %0, %1, %2, 0xf7b3;"
          : "=r"(exponents)
          : "r"(__float_as_uint(sums[4 * i + 2 * row])), "r"(__float_as_uint(sums[4 * i + 2 * row + 1])));
      best[2 * i + row] = __viaddmax_u16x2(exponents, rows[row] * one + cols, best[2 * i + row]);
    }
  }
}

#endif

template <int BM_, int BN_, int BK_, int kStages_>
struct ExponentTiles {
  static constexpr bool kFindsWitnesses = false, kInHalves = false;
  static constexpr int BM = BM_, BN = BN_, BK = BK_, kStages = kStages_;
  /// Whether a block's operands are whole packed tiles.
  static constexpr bool kIsWhole = BM == kExponentLines && BN == kExponentLines;
  /// Number of consumer warpgroups; one more warpgroup is the producer.
  static constexpr int kConsumers = BM / 64, kThreads = 128 * (kConsumers + 1);
  /// Number of producer threads. A single thread can't issue all copies of a tile in time if its columns are in two
  /// packed tiles.
  static constexpr int kProducers = kIsWhole ? 1 : 2;
  /// Registers per consumer thread and per producer thread (setmaxnreg). Their sum over the block is the number of
  /// registers at launch.
  static constexpr int kRegisters = 232, kRegistersToCopy = 40;
  static constexpr int kTileBytesA = BM * kTileLineBytes, kTileBytesB = BN * kTileLineBytes;
  /// Bytes for the best elements of the lines of both operands, and for the chunk offsets of one operand if distances
  /// are counted within chunks.
  static constexpr int kBestBytes = (BM + BN) * sizeof(int32_t);
  template <class Arithmetic>
  static constexpr int kOffsetBytes = Arithmetic::kByChunks ? kExponentChunks * BM * int{sizeof(int32_t)} : 0;
  /// Dynamic shared memory in bytes. Tiles begin at multiples of 1024 bytes, and a stage has two barriers.
  template <class Arithmetic>
  static constexpr int kSharedBytes =
      1024 + kStages * (kTileBytesA + kTileBytesB + 2 * kOffsetBytes<Arithmetic> + 16) + kBestBytes;
  static_assert(BM == kExponentLines && BN % 16 == 0 && BN <= kExponentLines + 16 && BK == kExponentDepth,
                "tiles of A are as packing writes them, and those of B are within two of those");
};

template <class Config, class Arithmetic>
__global__ void __launch_bounds__(Config::kThreads)
    exponent_kernel(DeviceProblem problem, ExponentProblem operands, Arithmetic arithmetic) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  constexpr int kStages = Config::kStages, kConsumers = Config::kConsumers;
  static_assert(Config::kIsWhole || !Arithmetic::kByChunks, "the offsets of a tile are copied as a whole");
  using Offset = std::conditional_t<Config::kInHalves, uint16_t, int32_t>;
  constexpr int kOffsetBytes = Arithmetic::kByChunks ? kExponentChunks * kExponentLines * int{sizeof(Offset)} : 0;
  constexpr int kTileBytesOfStage = Config::kTileBytesA + Config::kTileBytesB;
  extern __shared__ __align__(1024) unsigned char memory[];
  // Layout: tiles of all stages, chunk offsets of all stages, best elements, barriers.
  const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(memory));
  const unsigned base = first_tile_place(shared);
  const unsigned all_offsets = base + kStages * kTileBytesOfStage;
  const unsigned bests = all_offsets + kStages * 2 * kOffsetBytes;
  const StageBarriers<kStages> barriers{bests + Config::kBestBytes};
  const auto tile_at = [&](int stage, Side side) {
    return base + stage * kTileBytesOfStage + (side == Side::kB ? Config::kTileBytesA : 0);
  };
  const auto offsets_at = [&](int stage, Side side) {
    return all_offsets + (stage * 2 + (side == Side::kB)) * kOffsetBytes;
  };
  const auto integers_at = [&](unsigned address) {
    return reinterpret_cast<const int32_t*>(memory + (address - shared));
  };
  const auto read_offsets = [&](int stage, Side side) {
    return reinterpret_cast<const Offset*>(memory + (offsets_at(stage, side) - shared));
  };
  const int group = threadIdx.x / 128, thread = threadIdx.x % 128;
  // One arrival per warpgroup releases a stage, because its wgmma results complete together. With chunk offsets each
  // warp reads shared memory by itself, so all four warps arrive.
  constexpr int kReaders = Arithmetic::kByChunks ? 4 : 1;  // arrivals per warpgroup and stage
  barriers.init(kConsumers * kReaders, Config::kProducers);

  // Type of the divisions in locate_tile(). With 32 bits, kernels of whole tiles are 4 % slower at 8192³ on an H200,
  // and kernels in halves are 5 % faster.
  using Number = std::conditional_t<Config::kInHalves || !Config::kIsWhole, int, int64_t>;
  const TilePlace place = locate_tile<Number>(static_cast<Number>(blockIdx.x), operands.tiles_m, operands.tiles_n);
  const int64_t instance = blockIdx.z;
  const Span rows = span_of_tile(place.m, Config::BM), cols = span_of_tile(place.n, Config::BN);
  bool has_results;
  const DepthTiles depth =
      depth_of_tile(problem, rows, cols, kTileSteps<Arithmetic>, {0, operands.tiles_k}, has_results);
  if (!has_results) return;
  const int tiles_k = depth.count;

  if (group == kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Config::kRegistersToCopy));
    if (thread != 0 && (Config::kProducers == 1 || thread != 32)) return;
    const bool copies_a = thread == 0, copies_b = Config::kProducers == 1 || thread == 32;
    const ExponentOperand &a = operands.a, &b = operands.b;
    const int64_t first_a = instance * a.instance_tiles + int64_t{place.m} * operands.tiles_k + depth.first;
    const int64_t first_b = instance * b.instance_tiles + cols.first / kExponentLines * operands.tiles_k + depth.first;
    // The columns of a tile may lie in two packed tiles. Columns beyond the packed ones aren't copied, and their
    // results aren't stored.
    const int skipped = Config::kIsWhole ? 0 : static_cast<int>(cols.first % kExponentLines);
    const int count =
        Config::kIsWhole ? Config::BN : static_cast<int>(min(cols.end, padded_lines(problem.n)) - cols.first);
    const int in_first = min(count, kExponentLines - skipped);
    const auto copy_lines = [&](unsigned target, const unsigned char* from, int lines, int stage) {
      bulk_copy(target, from, lines * kTileLineBytes, barriers.full(stage));
    };
    const auto copy_offsets = [&](const ExponentOperand& operand, int64_t tile, int stage, Side side) {
      const Offset* offsets;
      if constexpr (Config::kInHalves) {
        offsets = operand.halves;
      } else {
        offsets = operand.offsets;
      }
      offsets += tile * kExponentChunks * kExponentLines;
      bulk_copy(offsets_at(stage, side), reinterpret_cast<const unsigned char*>(offsets), kOffsetBytes,
                barriers.full(stage));
    };
    const auto copy_best = [&](unsigned target, const ExponentOperand& operand, int64_t first_line, int lines) {
      const int32_t* best = operand.best + instance * operand.instance_lines + first_line;
      bulk_copy(target, reinterpret_cast<const unsigned char*>(best), lines * int{sizeof(*best)}, barriers.full(0));
    };
    for (int tile = 0; tile < tiles_k; ++tile) {
      const int stage = tile % kStages, phase = tile / kStages & 1;
      const int bytes_of_line = kTileLineBytes + (tile == 0 ? int{sizeof(int32_t)} : 0);
      barrier_wait(barriers.empty(stage), phase ^ 1);
      barrier_expect(barriers.full(stage), (copies_a ? Config::BM * bytes_of_line + kOffsetBytes : 0) +
                                               (copies_b ? count * bytes_of_line + kOffsetBytes : 0));
      if (copies_a) {
        if (tile == 0) copy_best(bests, a, rows.first, Config::BM);
        copy_lines(tile_at(stage, Side::kA), a.tiles + (first_a + tile) * kExponentTileBytes, Config::BM, stage);
        if constexpr (kOffsetBytes > 0) copy_offsets(a, first_a + tile, stage, Side::kA);
      }
      if (copies_b) {
        if (tile == 0) copy_best(bests + Config::BM * int{sizeof(int32_t)}, b, cols.first, count);
        const unsigned target = tile_at(stage, Side::kB);
        const unsigned char* const packed = b.tiles + (first_b + tile) * kExponentTileBytes;
        copy_lines(target, packed + skipped * kTileLineBytes, in_first, stage);
        if (count > in_first) {
          copy_lines(target + in_first * kTileLineBytes, packed + int64_t{operands.tiles_k} * kExponentTileBytes,
                     count - in_first, stage);
        }
        if constexpr (kOffsetBytes > 0) copy_offsets(b, first_b + tile, stage, Side::kB);
      }
    }
    return;
  }

  // Lane 4g + t of a warp has columns 8i + 2t and 8i + 2t + 1 of rows g and g + 8.
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Config::kRegisters));
  const int lane = threadIdx.x % 32, own_row = group * 64 + thread / 32 * 16 + lane / 4, own_col = lane % 4 * 2;
  constexpr int kResults = Config::BN / 2;  // per thread
  int best[Config::kInHalves ? kResults / 2 : kResults];
#pragma unroll
  for (int& result : best) result = Arithmetic::kByChunks && !Config::kInHalves ? kLowest<int32_t> : 0;
  for (int tile = 0; tile < tiles_k; ++tile) {
    const int stage = tile % kStages, phase = tile / kStages & 1;
    barrier_wait(barriers.full(stage), phase);
    const uint64_t a = matrix_descriptor(tile_at(stage, Side::kA) + group * 64 * kTileLineBytes);
    const uint64_t b = matrix_descriptor(tile_at(stage, Side::kB));
    constexpr int kChunk = kChunkPlaces / 8;  // in units of 16 bytes
    static_assert(kExponentChunks == 2);
    float first[kResults], second[kResults];
    fence_tiles();
    multiply_chunk(first, a, b);
    if constexpr (Arithmetic::kByChunks) commit_tiles();
    multiply_chunk(second, a + kChunk, b + kChunk);
    commit_tiles();
    if constexpr (Arithmetic::kByChunks) {
      const Offset* const offsets_a = read_offsets(stage, Side::kA) + own_row;
      const Offset* const offsets_b = read_offsets(stage, Side::kB) + (Config::kInHalves ? own_col * 4 : own_col);
      const auto combine = [&](const float (&sums)[kResults], int chunk) {
        const int at = chunk * kExponentLines;
        if constexpr (Config::kInHalves) {
          static_assert(place_of_half(false, 2) == 4 * 2 && place_of_half(false, 8 * 4) == 32);
          combine_exponents(best, sums, offsets_a + at, offsets_b + at, operands.one);
        } else {
          combine_exponents(best, sums, offsets_a + at, offsets_b + at);
        }
      };
      await_tiles<1>();
      combine(first, 0);
      await_tiles<0>();
      combine(second, 1);
    } else {
      await_tiles<0>();
      if constexpr (Config::kFindsWitnesses) {
        combine_notes<Arithmetic>(best, first, second, ExponentNote<Arithmetic>::kNumbers - (depth.first + tile));
      } else {
        combine_bits(best, first, second);
      }
    }
    if constexpr (Arithmetic::kByChunks) __syncwarp();
    if (thread % (128 / kReaders) == 0) barrier_arrive(barriers.empty(stage));
  }

  const int32_t* const best_a = integers_at(bests);
  const int32_t* const best_b = best_a + Config::BM;
  if constexpr (Config::kFindsWitnesses) {
    const StoreNotes<Arithmetic> store(problem, arithmetic);
    const int row = store.quad.row(own_row);
#pragma unroll
    for (int i = 0; i < kResults / 4; ++i) {
      const int col = store.quad.col(own_col) + 8 * i;
      store(rows.first + row, cols.first + col, best + 4 * i, best_a[row], best_b + col);
    }
    return;
  }
  // Decodes the thread's results in column 8i + col of one of its two rows.
  const auto decoded = [&](int i, int row, int col, int32_t best_of_lines) {
    if constexpr (Config::kInHalves) {
      return arithmetic.decode_half(best[2 * i + row] >> 16 * col & 0xffff, best_of_lines);
    } else {
      const int found = best[4 * i + 2 * row + col];
      return arithmetic.decode(Arithmetic::kByChunks ? found : found >> 23, best_of_lines);
    }
  };
  const Epilogue<Arithmetic> epilogue(problem, arithmetic, blockIdx.z);
  if (epilogue.stores_pairs(rows, cols)) {
    const int left = static_cast<int>(min(problem.n - cols.first, int64_t{Config::BN})) - own_col;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = own_row + 8 * half;
      if (rows.first + row >= problem.m) return;
      const int32_t best_of_row = best_a[row];
      auto* const target = epilogue.target(rows.first + row) + cols.first + own_col;
#pragma unroll
      for (int i = 0; i < kResults / 4; ++i) {
        const int2 best_of_cols = *reinterpret_cast<const int2*>(best_b + own_col + 8 * i);
        epilogue.store_pair(target + 8 * i, left - 8 * i,
                            decoded(i, half, 0, wrapping_add(best_of_row, best_of_cols.x)),
                            decoded(i, half, 1, wrapping_add(best_of_row, best_of_cols.y)));
      }
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kResults; ++i) {
    const int row = own_row + i % 4 / 2 * 8, col = own_col + i / 4 * 8 + i % 2;
    const int32_t best_of_lines = wrapping_add(best_a[row], best_b[col]);
    epilogue.store(rows.first + row, cols.first + col, decoded(i / 4, i % 4 / 2, i % 2, best_of_lines));
  }
#endif
}

}  // namespace mpmml::cuda
