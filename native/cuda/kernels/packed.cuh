// What the families over packed operands share: where the operands lie, and the launch.
#pragma once
#include "core/arithmetic.h"
#include "cuda/kernels/kernel.h"
#include "cuda/kernels/packing.cuh"
#include "cuda/kernels/words.cuh"
#include "cuda/runtime/error.h"

namespace mpmml::cuda {

/// What one load or copy brings.
constexpr int kChunkBytes = 16;

/// The packed operands and what the main loop needs to know of them.
template <class Word>
struct PackedProblem {
  const Word* a;                         ///< [instance][k][rows], words
  const Word* b;                         ///< [instance][k][words of columns]
  int64_t padded_m, padded_n, padded_k;  ///< in rows, words and steps
  int64_t a_instance, b_instance;        ///< words from one instance to the next
  uint32_t one;                          ///< 1; see sum_by_multiply
};

/// Kernels over packed operands. `Config` gives the tile BM × BN × BK of a block in rows, words and steps, kSlices (of K),
/// kThreads, shared_bytes<Word> and entry<Arithmetic>(), the __global__ function.
template <class Config>
struct PackedKernel {
  template <class Arithmetic>
  using WordOf = typename Words<Arithmetic>::Word;
  template <class Arithmetic>
  using Packed = PackedProblem<WordOf<Arithmetic>>;

  template <class Arithmetic>
  static Packed<Arithmetic> layout(const Launch& launch) {
    const auto round_up = [](int64_t size, int64_t multiple) { return (size + multiple - 1) / multiple * multiple; };
    Packed<Arithmetic> packed{};
    packed.padded_m = round_up(launch.m, Config::BM);
    packed.padded_n = round_up(launch.n, Config::BN * Words<Arithmetic>::kLanes) / Words<Arithmetic>::kLanes;
    packed.padded_k = round_up(launch.k, Config::BK * Config::kSlices);
    packed.a_instance = launch.a.batch_stride == 0 ? 0 : packed.padded_m * packed.padded_k;
    packed.b_instance = launch.b.batch_stride == 0 ? 0 : packed.padded_n * packed.padded_k;
    packed.a = static_cast<const WordOf<Arithmetic>*>(launch.packed_a);
    packed.b = static_cast<const WordOf<Arithmetic>*>(launch.packed_b);
    packed.one = 1;
    return packed;
  }

  template <class Arithmetic>
  static constexpr Kernel kernel(double steps_per_clock, int full_speed_from) {
    Kernel kernel{};
    kernel.paths = paths_of<Arithmetic>();
    kernel.takes_int16 = true;
    kernel.launch = &launch<Arithmetic>;
    kernel.function = &function<Arithmetic>;
    kernel.packed_bytes = &packed_bytes<Arithmetic>;
    kernel.pack = &pack_operand<Arithmetic>;
    kernel.shape = {Config::BM,
                    Config::BN * Words<Arithmetic>::kLanes,
                    Config::BK * Config::kSlices,
                    Config::kThreads,
                    Config::template shared_bytes<WordOf<Arithmetic>>,
                    steps_per_clock,
                    full_speed_from};
    return kernel;
  }

  template <class Arithmetic>
  static int64_t packed_bytes(const Launch& launch, Operand operand) {
    const Packed<Arithmetic> packed = layout<Arithmetic>(launch);
    const int64_t words =
        operand == Operand::kA ? packed.padded_m * items(launch, launch.a) : packed.padded_n * items(launch, launch.b);
    return words * packed.padded_k * int64_t{sizeof(WordOf<Arithmetic>)};
  }

  template <class Arithmetic>
  static void pack_operand(const Launch& launch, Operand operand) {
    const Packed<Arithmetic> packed = layout<Arithmetic>(launch);
    for_arithmetic<Arithmetic>(launch, [&](const Arithmetic& arithmetic) {
      if (operand == Operand::kA) {
        const MatrixView& a = launch.a;
        pack<EncodeA<Arithmetic>>({a.data, launch.m, launch.k, a.row_stride, a.col_stride, a.batch_stride, a.storage},
                                  items(launch, a), launch.packed_a, packed.padded_m, packed.padded_k, {arithmetic},
                                  launch.stream);
      } else {
        const MatrixView& b = launch.b;
        pack<EncodeB<Arithmetic>>({b.data, launch.n, launch.k, b.col_stride, b.row_stride, b.batch_stride, b.storage},
                                  items(launch, b), launch.packed_b, packed.padded_n * Words<Arithmetic>::kLanes,
                                  packed.padded_k, {arithmetic}, launch.stream);
      }
    });
  }

  template <class Arithmetic>
  static void launch(const Launch& launch) {
    constexpr int kSharedBytes = Config::template shared_bytes<WordOf<Arithmetic>>;
    auto* const entry = Config::template entry<Arithmetic>();
    const Packed<Arithmetic> whole = layout<Arithmetic>(launch);
    const int64_t tiles = whole.padded_m / Config::BM * (whole.padded_n / Config::BN);
    for_arithmetic<Arithmetic>(launch, [&](const Arithmetic& arithmetic) {
      for_instances(launch, [&](const Launch& part) {
        Packed<Arithmetic> packed = whole;
        packed.a += part.first_instance * packed.a_instance;
        packed.b += part.first_instance * packed.b_instance;
        const dim3 grid(static_cast<unsigned>(tiles), 1, static_cast<unsigned>(part.batch));
        entry<<<grid, Config::kThreads, kSharedBytes, part.stream>>>(part, packed, arithmetic);
      });
    });
    MPMML_CUDA(cudaGetLastError());
  }

  template <class Arithmetic>
  static const void* function(RangePath) {
    return reinterpret_cast<const void*>(Config::template entry<Arithmetic>());
  }

 private:
  static int64_t items(const Launch& launch, const MatrixView& view) {
    return view.batch_stride == 0 ? 1 : launch.batch;
  }
};

__device__ __forceinline__ void store_chunk(int32_t* target, const int32_t* x) {
  *reinterpret_cast<int4*>(target) = make_int4(x[0], x[1], x[2], x[3]);
}
__device__ __forceinline__ void store_chunk(float* target, const float* x) {
  *reinterpret_cast<float4*>(target) = make_float4(x[0], x[1], x[2], x[3]);
}
__device__ __forceinline__ void store_chunk(double* target, const double* x) {
  *reinterpret_cast<double2*>(target) = make_double2(x[0], x[1]);
}

/// The tile's place: columns of up to 8 tile rows, so that blocks that run together share operands in the L2 cache.
__device__ __forceinline__ void locate_tile(int64_t tiles_m, int64_t tiles_n, int64_t& tile_m, int64_t& tile_n) {
  constexpr int64_t kGroup = 8;
  const int64_t group = blockIdx.x / (kGroup * tiles_n);
  const int64_t within = blockIdx.x % (kGroup * tiles_n);
  const int64_t rows = min(kGroup, tiles_m - group * kGroup);
  tile_m = group * kGroup + within % rows;
  tile_n = within / rows;
}

/// Finishes adjacent sums of a row, and writes those that lie in C. C's rows are aligned where they begin a multiple of a
/// chunk apart; `col` is a multiple of one.
template <int kColumns, class Arithmetic>
__device__ __forceinline__ void write_results(const Launch& problem, const Arithmetic& arithmetic, int64_t row,
                                              int64_t col, const typename Arithmetic::Accumulator (&sums)[kColumns]) {
  using Element = typename Arithmetic::Element;
  const int64_t instance = blockIdx.z;
  const MatrixView& c0 = problem.c0;
  const auto* before = static_cast<const Element*>(c0.data) + instance * c0.batch_stride;
  Element values[kColumns];
#pragma unroll
  for (int v = 0; v < kColumns; ++v) {
    const Element previous = c0.data && col + v < problem.n ? before[row * c0.row_stride + (col + v) * c0.col_stride]
                                                            : Arithmetic::Semiring::zero;
    bool overflowed = false;
    values[v] = arithmetic.finish(sums[v], previous, overflowed);
  }
  constexpr int kElements = kChunkBytes / sizeof(Element);
  Element* target =
      static_cast<Element*>(problem.c.data) + instance * problem.c.batch_stride + row * problem.c.row_stride + col;
  if (problem.c.row_stride % kElements == 0 && col + kColumns <= problem.n) {
#pragma unroll
    for (int v = 0; v < kColumns; v += kElements) store_chunk(target + v, values + v);
  } else {
#pragma unroll
    for (int v = 0; v < kColumns; ++v) {
      if (col + v < problem.n) target[v] = values[v];
    }
  }
}

}  // namespace mpmml::cuda
