// The exponent family: max-plus and min-plus of few levels on Hopper's tensor cores. They multiply and add powers of two,
// and the exponent of a sum is the best of its terms (core/range.h, ExponentScale; docs/tensor-cores.md has the proofs).
//
// Packing takes the best element of each line (row of A, column of B) off and writes tiles exactly as shared memory holds
// them, so that one thread moves a whole tile by a bulk copy. A block computes 128 × 128 of C: one group of four warps
// copies, two multiply 64 rows each. An accumulator of a chunk of K starts from 0, and chunks combine by a maximum of their
// bits, because floats that aren't negative are ordered like integers.
#pragma once
#include "core/arithmetic.h"
#include "cuda/kernels/epilogue.cuh"
#include "cuda/kernels/kernel.h"
#include "cuda/kernels/packed.cuh"
#include "cuda/kernels/packing.cuh"
#include "cuda/kernels/warpgroup.cuh"
#include "cuda/runtime/error.h"
#include "cuda/runtime/exponent_check.h"
#include "cuda/runtime/function.h"

namespace mpmml::cuda {

/// An operand in tiles: tiles[instance][tile of lines][tile of K] of 128 lines × 64 elements, and the best element of each
/// line.
struct ExponentOperand {
  const unsigned char* tiles;
  const int32_t* best;  ///< [instance][padded line]
  int64_t instance_bytes, instance_lines;
};

/// Sizes in tiles.
struct ExponentProblem {
  ExponentOperand a, b;
  int tiles_m, tiles_n, tiles_k;
};

template <class Config, class Arithmetic>
__global__ void exponent_kernel(Launch problem, ExponentProblem operands, Arithmetic arithmetic);

constexpr int kExponentLines = 128;  ///< of a tile
constexpr int kExponentDepth = 64;   ///< of a tile
constexpr int kExponentTileBytes = kExponentLines * kExponentDepth * 2;
static_assert(kExponentDepth * 2 == kTileLineBytes);

constexpr int kExponentPackLines = 32;
constexpr int kExponentPackThreads = 256;

/// best[item][line] = ⊕ of the levels of the line's elements. `best` is zero before. Blocks take 32 lines × 1024 steps.
template <class Arithmetic, class Stored>
__global__ void __launch_bounds__(kExponentPackThreads)
    exponent_best_kernel(PackSource source, Levels<typename Arithmetic::Element> levels, int32_t* best,
                         int64_t padded_lines) {
  using S = typename Arithmetic::OnLevels;
  using Semiring = typename Arithmetic::Semiring;
  constexpr int kDepth = 1024;
  const auto* data = static_cast<const Stored*>(source.data) + blockIdx.z * source.batch_stride;
  const int64_t line0 = int64_t{blockIdx.x} * kExponentPackLines;
  const bool along_k = source.k_stride < source.line_stride;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int64_t k0 = int64_t{blockIdx.y} * kDepth; k0 < source.depth; k0 += int64_t{gridDim.y} * kDepth) {
    const int64_t end = min(k0 + kDepth, source.depth);
    if (along_k) {
      for (int64_t line = line0 + warp; line < min(line0 + kExponentPackLines, source.lines); line += 8) {
        int32_t found = S::zero;
        for (int64_t k = k0 + lane; k < end; k += 32) {
          const Stored stored = data[line * source.line_stride + k * source.k_stride];
          found = S::combine(found, levels.template of<Semiring>(widened<Semiring>(stored)));
        }
#pragma unroll
        for (int offset = 16; offset > 0; offset /= 2) {
          found = S::combine(found, __shfl_xor_sync(~0u, found, offset));
        }
        if (lane == 0)
          S::maximizes ? atomicMax(best + blockIdx.z * padded_lines + line, found)
                       : atomicMin(best + blockIdx.z * padded_lines + line, found);
      }
    } else if (line0 + lane < source.lines) {
      const int64_t line = line0 + lane;
      int32_t found = S::zero;
      for (int64_t k = k0 + warp; k < end; k += 8) {
        const Stored stored = data[line * source.line_stride + k * source.k_stride];
        found = S::combine(found, levels.template of<Semiring>(widened<Semiring>(stored)));
      }
      S::maximizes ? atomicMax(best + blockIdx.z * padded_lines + line, found)
                   : atomicMin(best + blockIdx.z * padded_lines + line, found);
    }
  }
}

template <int32_t kValue>
__global__ void exponent_fill_kernel(int32_t* values, int64_t count) {
  const int64_t index = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index < count) values[index] = kValue;
}

/// Writes the tiles of an operand. A block writes 32 lines of a tile.
template <class Arithmetic, class Stored>
__global__ void __launch_bounds__(kExponentPackThreads)
    exponent_pack_kernel(PackSource source, Levels<typename Arithmetic::Element> levels, unsigned char* tiles,
                         const int32_t* best, int64_t padded_lines, int tiles_k, int top) {
  using S = typename Arithmetic::Semiring;
  __shared__ uint16_t lines[kExponentPackLines][kExponentDepth + 2];
  const auto* data = static_cast<const Stored*>(source.data) + blockIdx.z * source.batch_stride;
  const int64_t line0 = int64_t{blockIdx.x} * kExponentPackLines;
  best += blockIdx.z * padded_lines;
  unsigned char* const row = tiles + (blockIdx.z * padded_lines / kExponentLines + line0 / kExponentLines) * tiles_k *
                                         int64_t{kExponentTileBytes};
  const bool along_k = source.k_stride < source.line_stride;
  for (int tile = blockIdx.y; tile < tiles_k; tile += gridDim.y) {
#pragma unroll
    for (int part = 0; part < kExponentPackLines * kExponentDepth; part += kExponentPackThreads) {
      const int index = part + threadIdx.x;
      const int line = along_k ? index / kExponentDepth : index % kExponentPackLines;
      const int step = along_k ? index % kExponentDepth : index / kExponentPackLines;
      const int64_t l = line0 + line, k = int64_t{tile} * kExponentDepth + step;
      uint16_t bits = 0;
      if (l < source.lines && k < source.depth) {
        const Stored stored = data[l * source.line_stride + k * source.k_stride];
        bits = Arithmetic::encode(levels.template of<S>(widened<S>(stored)), best[l], top);
      }
      lines[line][step] = bits;
    }
    __syncthreads();
    const int line = threadIdx.x / 8, chunk = threadIdx.x % 8;
    uint32_t words[4];
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      words[word] = *reinterpret_cast<const uint32_t*>(&lines[line][chunk * 8 + word * 2]);
    }
    const int in_tile = static_cast<int>(line0 % kExponentLines) + line;
    *reinterpret_cast<uint4*>(row + int64_t{tile} * kExponentTileBytes + place_in_tile(in_tile, chunk)) =
        make_uint4(words[0], words[1], words[2], words[3]);
    __syncthreads();
  }
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

#define MPMML_4(f, i) f(i), f(i + 1), f(i + 2), f(i + 3)
#define MPMML_16(f, i) MPMML_4(f, i), MPMML_4(f, i + 4), MPMML_4(f, i + 8), MPMML_4(f, i + 12)
#define MPMML_64(f) MPMML_16(f, 0), MPMML_16(f, 16), MPMML_16(f, 32), MPMML_16(f, 48)
#define MPMML_ACCUMULATOR(i) "+f"(acc[i])
/// acc = a · b, or acc + a · b if `adds`: 64 × 128 results over 16 steps.
template <bool adds>
__device__ __forceinline__ void multiply_tiles(float (&acc)[64], uint64_t a, uint64_t b) {
  asm volatile(
      "{\n"
      ".reg .pred adds;\n"
      "setp.ne.b32 adds, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, adds, 1, 1, 0, 0;\n"
      "}\n"
      : MPMML_64(MPMML_ACCUMULATOR)
      : "l"(a), "l"(b), "n"(adds));
}
#undef MPMML_ACCUMULATOR
#undef MPMML_64
#undef MPMML_16
#undef MPMML_4

/// Two chunks of kSteps steps of K.
template <int kSteps>
__device__ __forceinline__ void two_chunks(int (&best)[64], uint64_t a, uint64_t b) {
  float first[64], second[64];
  constexpr int kInstructions = kSteps / 16;
  fence_tiles();
#pragma unroll
  for (int chunk = 0; chunk < 2; ++chunk) {
    float (&acc)[64] = chunk == 0 ? first : second;
#pragma unroll
    for (int part = 0; part < kInstructions; ++part) {
      const int at = 2 * (chunk * kInstructions + part);  // 16 steps are 32 bytes; addresses are in units of 16
      part == 0 ? multiply_tiles<false>(acc, a + at, b + at) : multiply_tiles<true>(acc, a + at, b + at);
    }
  }
  commit_tiles();
  await_tiles();
#pragma unroll
  for (int i = 0; i < 64; ++i) best[i] = __vimax3_s32(best[i], __float_as_int(first[i]), __float_as_int(second[i]));
}

#endif

template <int BM_, int BN_, int BK_, int kStages_>
struct ExponentTiles {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, kStages = kStages_;
  static constexpr int kThreads = 384;
  static constexpr int kStageBytes = 2 * kExponentTileBytes;
  /// Tiles begin at multiples of 1024 bytes. A stage has two barriers.
  static constexpr int kSharedBytes = 1024 + kStages * (kStageBytes + 16);
  static_assert(BM == kExponentLines && BN == kExponentLines && BK == kExponentDepth,
                "tiles are as packing writes them");

  template <class Arithmetic>
  static constexpr Kernel kernel() {
    Kernel kernel{};
    kernel.paths = paths_of<Arithmetic>();
    kernel.takes_int16 = true;
    kernel.runs_on = &computes_exponents;
    kernel.launch = &launch<Arithmetic>;
    kernel.function = &function<Arithmetic>;
    kernel.packed_bytes = &packed_bytes;
    kernel.pack = &pack_operand<Arithmetic>;
    // Steps per clock as if there were 16 warps, from the measured 1180 and 790 (H200).
    kernel.shape = {BM, BN, BK, kThreads, kSharedBytes, Arithmetic::kScale.steps == 32 ? 1360.0 : 910.0, 90};
    return kernel;
  }

 private:
  static ExponentProblem layout(const Launch& launch) {
    ExponentProblem problem{};
    problem.tiles_m = static_cast<int>(ceil_div(launch.m, BM));
    problem.tiles_n = static_cast<int>(ceil_div(launch.n, BN));
    problem.tiles_k = static_cast<int>(ceil_div(launch.k, BK));
    const auto operand = [&](const MatrixView& view, void* packed, int64_t tiles) {
      ExponentOperand operand{};
      const int64_t items = items_of(view, launch.batch);
      const int64_t bytes = tiles * problem.tiles_k * kExponentTileBytes;
      operand.tiles = static_cast<const unsigned char*>(packed);
      operand.best = reinterpret_cast<const int32_t*>(operand.tiles + items * bytes);
      operand.instance_bytes = view.batch_stride == 0 ? 0 : bytes;
      operand.instance_lines = view.batch_stride == 0 ? 0 : tiles * kExponentLines;
      return operand;
    };
    problem.a = operand(launch.a, launch.packed_a, problem.tiles_m);
    problem.b = operand(launch.b, launch.packed_b, problem.tiles_n);
    return problem;
  }

  static int64_t packed_bytes(const Launch& launch, Side side) {
    const ExponentProblem problem = layout(launch);
    const int64_t tiles = side == Side::kA ? problem.tiles_m : problem.tiles_n;
    const int64_t items = items_of(side == Side::kA ? launch.a : launch.b, launch.batch);
    return items * tiles * (int64_t{problem.tiles_k} * kExponentTileBytes + kExponentLines * int64_t{sizeof(int32_t)});
  }

  template <class Arithmetic>
  static void pack_operand(const Launch& launch, Side side) {
    const bool is_a = side == Side::kA;
    const MatrixView& view = is_a ? launch.a : launch.b;
    using Element = typename Arithmetic::Element;
    if constexpr (std::is_same_v<Element, int32_t>) {
      if (view.storage == Storage::kInt16) return pack_stored<Arithmetic, int16_t>(launch, side);
    }
    pack_stored<Arithmetic, Element>(launch, side);
  }

  template <class Arithmetic, class Stored>
  static void pack_stored(const Launch& launch, Side side) {
    const bool is_a = side == Side::kA;
    const MatrixView& view = is_a ? launch.a : launch.b;
    const auto arithmetic = Arithmetic::for_operands(launch.path, launch.range_a, launch.range_b);
    const auto levels = is_a ? arithmetic.levels_a : arithmetic.levels_b;
    const ExponentProblem problem = layout(launch);
    const ExponentOperand& operand = is_a ? problem.a : problem.b;
    const int64_t padded_lines = int64_t{is_a ? problem.tiles_m : problem.tiles_n} * kExponentLines;
    const int64_t items = items_of(view, launch.batch);
    auto* const best = const_cast<int32_t*>(operand.best);
    auto* const tiles = const_cast<unsigned char*>(operand.tiles);
    constexpr int kFillThreads = 256;
    exponent_fill_kernel<Arithmetic::OnLevels::zero>
        <<<static_cast<unsigned>(ceil_div(items * padded_lines, kFillThreads)), kFillThreads, 0, launch.stream>>>(
            best, items * padded_lines);
    for (int64_t first = 0; first < items; first += kMostBlocks) {
      const PackSource source{static_cast<const Stored*>(view.data) + first * view.batch_stride,
                              is_a ? launch.m : launch.n,
                              launch.k,
                              is_a ? view.row_stride : view.col_stride,
                              is_a ? view.col_stride : view.row_stride,
                              view.batch_stride,
                              view.storage};
      const auto depth = [&](int64_t blocks) { return static_cast<unsigned>(std::min(kMostBlocks, blocks)); };
      const auto lines = static_cast<unsigned>(padded_lines / kExponentPackLines);
      const unsigned count = depth(items - first);
      exponent_best_kernel<Arithmetic, Stored>
          <<<dim3(lines, depth(ceil_div(launch.k, 1024)), count), kExponentPackThreads, 0, launch.stream>>>(
              source, levels, best + first * padded_lines, padded_lines);
      exponent_pack_kernel<Arithmetic, Stored>
          <<<dim3(lines, depth(problem.tiles_k), count), kExponentPackThreads, 0, launch.stream>>>(
              source, levels, tiles + first * padded_lines / kExponentLines * problem.tiles_k * kExponentTileBytes,
              best + first * padded_lines, padded_lines, problem.tiles_k,
              is_a ? Arithmetic::kScale.top_a : Arithmetic::kScale.top_b);
    }
    MPMML_CUDA(cudaGetLastError());
  }

  template <class Arithmetic>
  static void launch(const Launch& launch) {
    auto* const entry = &exponent_kernel<ExponentTiles, Arithmetic>;
    allow_shared_bytes(function<Arithmetic>(launch.path), kSharedBytes);
    const auto arithmetic = Arithmetic::for_operands(launch.path, launch.range_a, launch.range_b);
    const ExponentProblem whole = layout(launch);
    const int64_t tiles = int64_t{whole.tiles_m} * whole.tiles_n;
    for_instances(launch, [&](const Launch& part) {
      ExponentProblem problem = whole;
      for (ExponentOperand* operand : {&problem.a, &problem.b}) {
        operand->tiles += part.first_instance * operand->instance_bytes;
        operand->best += part.first_instance * operand->instance_lines;
      }
      const dim3 grid(static_cast<unsigned>(tiles), 1, static_cast<unsigned>(part.batch));
      entry<<<grid, kThreads, kSharedBytes, part.stream>>>(part, problem, arithmetic);
    });
    MPMML_CUDA(cudaGetLastError());
  }

  template <class Arithmetic>
  static const void* function(RangePath) {
    return reinterpret_cast<const void*>(&exponent_kernel<ExponentTiles, Arithmetic>);
  }
};

template <class Config, class Arithmetic>
__global__ void __launch_bounds__(Config::kThreads, 1)
    exponent_kernel(Launch problem, ExponentProblem operands, Arithmetic arithmetic) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  constexpr int kStages = Config::kStages, kStageBytes = Config::kStageBytes;
  constexpr int kConsumers = 2;
  extern __shared__ __align__(1024) unsigned char memory[];
  const unsigned base = (static_cast<unsigned>(__cvta_generic_to_shared(memory)) + 1023) & ~1023u;
  const unsigned barriers = base + kStages * kStageBytes;
  const auto full = [&](int stage) { return barriers + stage * 16; };
  const auto empty = [&](int stage) { return barriers + stage * 16 + 8; };
  const int group = threadIdx.x / 128, thread = threadIdx.x % 128;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      barrier_init(full(stage), 1);
      barrier_init(empty(stage), kConsumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  int64_t tile_m, tile_n;
  locate_tile(operands.tiles_m, operands.tiles_n, tile_m, tile_n);
  const int64_t instance = blockIdx.z;
  const int tiles_k = operands.tiles_k;

  if (group == kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (thread != 0) return;
    const int64_t row_bytes = int64_t{tiles_k} * kExponentTileBytes;
    const unsigned char* a = operands.a.tiles + instance * operands.a.instance_bytes + tile_m * row_bytes;
    const unsigned char* b = operands.b.tiles + instance * operands.b.instance_bytes + tile_n * row_bytes;
    for (int tile = 0; tile < tiles_k; ++tile) {
      const int stage = tile % kStages, phase = tile / kStages & 1;
      barrier_wait(empty(stage), phase ^ 1);
      barrier_expect(full(stage), kStageBytes);
      const unsigned target = base + stage * kStageBytes;
      bulk_copy(target, a, kExponentTileBytes, full(stage));
      bulk_copy(target + kExponentTileBytes, b, kExponentTileBytes, full(stage));
      a += kExponentTileBytes;
      b += kExponentTileBytes;
    }
    return;
  }

  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  int best[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) best[i] = 0;
  for (int tile = 0; tile < tiles_k; ++tile) {
    const int stage = tile % kStages, phase = tile / kStages & 1;
    barrier_wait(full(stage), phase);
    const unsigned tile_a = base + stage * kStageBytes;
    const uint64_t a = matrix_descriptor(tile_a + group * (kExponentTileBytes / 2));
    const uint64_t b = matrix_descriptor(tile_a + kExponentTileBytes);
    constexpr int kSteps = Arithmetic::kScale.steps;
#pragma unroll
    for (int k = 0; k < kExponentDepth; k += 2 * kSteps) two_chunks<kSteps>(best, a + k / 8, b + k / 8);
    if (thread == 0) barrier_arrive(empty(stage));
  }

  // Lane 4g + t of a warp has columns 8i + 2t and 8i + 2t + 1 of rows g and g + 8. Pairs of lanes exchange, so that each
  // has four neighbours of a row.
  const int lane = threadIdx.x % 32, warp = thread / 32;
  const bool odd = lane & 1;
  const int64_t row = tile_m * Config::BM + group * 64 + warp * 16 + lane / 4 + (odd ? 8 : 0);
  const int64_t first_col = tile_n * Config::BN + (lane % 4) / 2 * 4;
  const int32_t* best_b = operands.b.best + instance * operands.b.instance_lines;
  const int32_t best_a = operands.a.best[instance * operands.a.instance_lines + row];
  const Epilogue<Arithmetic> epilogue(problem, arithmetic, blockIdx.z);
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int* const own = best + 4 * i;  // row g: 0 and 1, row g + 8: 2 and 3
    const int given[2] = {odd ? own[0] : own[2], odd ? own[1] : own[3]};
    const int taken[2] = {__shfl_xor_sync(~0u, given[0], 1), __shfl_xor_sync(~0u, given[1], 1)};
    const int bits[4] = {odd ? taken[0] : own[0], odd ? taken[1] : own[1], odd ? own[2] : taken[0],
                         odd ? own[3] : taken[1]};
    const int64_t col = first_col + 8 * i;
    const int4 others = *reinterpret_cast<const int4*>(best_b + col);
    const int32_t sums[4] = {Arithmetic::decode(bits[0], wrapping_add(best_a, others.x)),
                             Arithmetic::decode(bits[1], wrapping_add(best_a, others.y)),
                             Arithmetic::decode(bits[2], wrapping_add(best_a, others.z)),
                             Arithmetic::decode(bits[3], wrapping_add(best_a, others.w))};
    if (row < problem.m) epilogue.store(row, col, sums);
  }
#endif
}

}  // namespace mpmml::cuda
