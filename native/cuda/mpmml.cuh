// The MPMML kernel: Algorithm 5 of P. P. Ghalsasi, "Max-Plus Matrix Multiplication Library for GPUs – MPMML"
// (Colorado State University, 2019), chapter 3, with the thesis' names.
//
// A block of BS_i × BS_j threads computes a tile of C of (X·BS_i) × (Y·BS_j), each thread X × Y of it, in sub-patches of
// Sub_X × Sub_Y: one sub-patch is the block pattern, Sub = 1 the cyclic one. Tiles of A and B of depth S pass through
// shared memory, k-major, so that a thread reads a sub-patch's operands as one vector. The instances of a batch
// (Ninst) are the grid's third dimension.
#pragma once
#include "core/arithmetic.h"
#include "cuda/error.h"
#include "cuda/kernel.h"

namespace mpmml::cuda {

/// A 16-byte aligned vector of N operands, loaded and stored whole.
template <class T, int N>
struct alignas(sizeof(T) * N % 16 == 0 ? 16 : sizeof(T)) Pack {
  T values[N];
};

template <class Config, class Arithmetic>
__global__ void mpmml_kernel(Launch problem, Arithmetic arithmetic);

template <int X_, int Y_, int BS_i_, int BS_j_, int S_, int MEMSEL_A, int MEMSEL_B, int Sub_X_, int Sub_Y_,
          int Transpose>
struct Mpmml {
  static constexpr int X = X_, Y = Y_, BS_i = BS_i_, BS_j = BS_j_, S = S_, Sub_X = Sub_X_, Sub_Y = Sub_Y_;
  static_assert(MEMSEL_A == 0 && MEMSEL_B == 0, "only case 00 exists: both operands through shared memory");
  static_assert(Transpose == 0, "A stored transposed does not exist");
  static_assert(X % Sub_X == 0 && Y % Sub_Y == 0, "sub-patches tile the thread's patch");
  static_assert(BS_i * BS_j <= 1024, "a block has at most 1024 threads");

  static constexpr int kThreads = BS_i * BS_j;
  static constexpr int kTileM = X * BS_i;
  static constexpr int kTileN = Y * BS_j;

  /// Blocks that a multiprocessor's 65 536 registers should hold: a thread has its accumulators, and about 56 more
  /// for fragments and addresses. Without this bound the compiler takes 255 to load far ahead (seen for sm_90).
  static constexpr int blocks_per_multiprocessor(int accumulator_bytes) {
    const int fit = 65536 / (kThreads * (X * Y * accumulator_bytes / 4 + 56));
    return fit > 1 ? fit : 1;
  }

  template <class... Arithmetics>
  static constexpr Kernel kernel() {
    constexpr bool kWide = (sizeof(typename Arithmetics::Accumulator) + ...) > sizeof...(Arithmetics) * 4;
    Kernel kernel{};
    kernel.paths = paths_of<Arithmetics...>();
    kernel.shape = {kTileM, kTileN, S, kThreads, 0, kWide ? 11.0 : 51.0, 0};
    kernel.launch = &launch<Arithmetics...>;
    kernel.function = &function<Arithmetics...>;
    return kernel;
  }

  template <class... Arithmetics>
  static void launch(const Launch& launch) {
    const int64_t tiles = ((launch.m + kTileM - 1) / kTileM) * ((launch.n + kTileN - 1) / kTileN);
    for_arithmetic<Arithmetics...>(launch, [&](auto arithmetic) {
      for_instances(launch, [&](const Launch& part) {
        const dim3 grid(static_cast<unsigned>(tiles), 1, static_cast<unsigned>(part.batch));
        mpmml_kernel<Mpmml, decltype(arithmetic)><<<grid, kThreads, 0, part.stream>>>(part, arithmetic);
      });
    });
    MPMML_CUDA(cudaGetLastError());
  }

  template <class... Arithmetics>
  static const void* function(RangePath path) {
    const void* kernel = nullptr;
    Launch launch{};
    launch.path = path;
    for_arithmetic<Arithmetics...>(launch, [&](auto arithmetic) {
      kernel = reinterpret_cast<const void*>(&mpmml_kernel<Mpmml, decltype(arithmetic)>);
    });
    return kernel;
  }
};

constexpr int largest_power_of_two_in(int value) { return value & -value; }

/// How a block's threads share the copying of a tile of kExtent lines (rows of A or columns of B) and depth kDepth:
/// neighbouring threads take neighbours in k or neighbouring lines, so that their reads coalesce where the matrix lies
/// that way.
template <int kExtent, int kDepth, int kThreads, bool kAlongK>
struct TileCopy {
  static constexpr int kFast = kAlongK ? kDepth : largest_power_of_two_in(kExtent);
  static constexpr int kAcross = kFast < kThreads ? kFast : kThreads;
  static constexpr int kLineStep = kAlongK ? kThreads / kAcross : kAcross;
  static constexpr int kKStep = kAlongK ? kAcross : kThreads / kAcross;
  static_assert(kExtent % kLineStep == 0 && kDepth % kKStep == 0, "a tile is copied in equal shares");

  /// Copies the tile at `data`, k-major and encoded. Of lines and depth only the first `lines` and `depth` exist; what
  /// lies outside becomes `border`.
  template <int kPitch, class Arithmetic>
  static __device__ __forceinline__ void run(typename Arithmetic::Operand (&tile)[kDepth][kPitch],
                                             const Arithmetic& arithmetic, const typename Arithmetic::Element* data,
                                             int64_t line_stride, int64_t k_stride, int64_t lines, int64_t depth,
                                             typename Arithmetic::Element border) {
    const int line = kAlongK ? threadIdx.x / kAcross : threadIdx.x % kAcross;
    const int k = kAlongK ? threadIdx.x % kAcross : threadIdx.x / kAcross;
    data += line * line_stride + k * k_stride;
    const bool whole = lines >= kExtent && depth >= kDepth;
#pragma unroll
    for (int i = 0; i < kExtent; i += kLineStep) {
#pragma unroll
      for (int j = 0; j < kDepth; j += kKStep) {
        const bool inside = whole || (line + i < lines && k + j < depth);
        tile[k + j][line + i] = arithmetic.encode(inside ? data[i * line_stride + j * k_stride] : border);
      }
    }
  }
};

/// Reads the operands of a thread's sub-patches at one k: `index`-th of `kCount` threads along this dimension.
template <int kValues, int kSub, int kCount, class Operand>
__device__ __forceinline__ void load_fragment(Operand (&fragment)[kValues], const Operand* row, int index) {
#pragma unroll
  for (int patch = 0; patch < kValues / kSub; ++patch) {
    const auto pack = *reinterpret_cast<const Pack<Operand, kSub>*>(row + (patch * kCount + index) * kSub);
#pragma unroll
    for (int value = 0; value < kSub; ++value) fragment[patch * kSub + value] = pack.values[value];
  }
}

template <class Config, class Arithmetic>
__global__ void __launch_bounds__(Config::kThreads,
                                  Config::blocks_per_multiprocessor(sizeof(typename Arithmetic::Accumulator)))
    mpmml_kernel(Launch problem, Arithmetic arithmetic) {
  using Semiring = typename Arithmetic::Semiring;
  using Element = typename Arithmetic::Element;
  using Operand = typename Arithmetic::Operand;
  constexpr int X = Config::X, Y = Config::Y, BS_i = Config::BS_i, BS_j = Config::BS_j, S = Config::S;
  constexpr int Sub_X = Config::Sub_X, Sub_Y = Config::Sub_Y;
  // Spreads the transposing stores of a tile over the banks; 16 bytes keep its rows aligned for vector loads.
  constexpr int kPadding = 16 / sizeof(Operand);
  __shared__ alignas(16) Operand shared_a[S][Config::kTileM + kPadding];
  __shared__ alignas(16) Operand shared_b[S][Config::kTileN + kPadding];

  const int64_t tiles_n = (problem.n + Config::kTileN - 1) / Config::kTileN;
  const int64_t first_row = blockIdx.x / tiles_n * Config::kTileM;
  const int64_t first_col = blockIdx.x % tiles_n * Config::kTileN;
  const int64_t instance = blockIdx.z;
  const int thread_i = threadIdx.x / BS_j;
  const int thread_j = threadIdx.x % BS_j;

  const MatrixView &a = problem.a, &b = problem.b;
  const auto* tile_a = static_cast<const Element*>(a.data) + instance * a.batch_stride + first_row * a.row_stride;
  const auto* tile_b = static_cast<const Element*>(b.data) + instance * b.batch_stride + first_col * b.col_stride;

  typename Arithmetic::Accumulator c[X][Y];
#pragma unroll
  for (int i = 0; i < X; ++i) {
#pragma unroll
    for (int j = 0; j < Y; ++j) c[i][j] = arithmetic.initial();
  }

  for (int64_t k0 = 0; k0 < problem.k; k0 += S) {
    TileCopy<Config::kTileM, S, Config::kThreads, true>::run(shared_a, arithmetic, tile_a, a.row_stride, a.col_stride,
                                                             problem.m - first_row, problem.k - k0, Semiring::border_a);
    TileCopy<Config::kTileN, S, Config::kThreads, false>::run(shared_b, arithmetic, tile_b, b.col_stride, b.row_stride,
                                                              problem.n - first_col, problem.k - k0,
                                                              Semiring::border_b);
    tile_a += S * a.col_stride;
    tile_b += S * b.row_stride;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < S; ++k) {
      Operand fragment_a[X], fragment_b[Y];
      load_fragment<X, Sub_X, BS_i>(fragment_a, shared_a[k], thread_i);
      load_fragment<Y, Sub_Y, BS_j>(fragment_b, shared_b[k], thread_j);
#pragma unroll
      for (int i = 0; i < X; ++i) {
#pragma unroll
        for (int j = 0; j < Y; ++j) c[i][j] = arithmetic.accumulate(c[i][j], fragment_a[i], fragment_b[j]);
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < X; ++i) {
    const int64_t row = first_row + (i / Sub_X * BS_i + thread_i) * Sub_X + i % Sub_X;
    if (row >= problem.m) continue;
#pragma unroll
    for (int j = 0; j < Y; ++j) {
      const int64_t col = first_col + (j / Sub_Y * BS_j + thread_j) * Sub_Y + j % Sub_Y;
      if (col >= problem.n) continue;
      const MatrixView& c0 = problem.c0;
      const Element before = c0.data
                                 ? static_cast<const Element*>(
                                       c0.data)[instance * c0.batch_stride + row * c0.row_stride + col * c0.col_stride]
                                 : Semiring::zero;
      bool overflowed = false;
      const Element value = arithmetic.finish(c[i][j], before, overflowed);
      static_cast<Element*>(
          problem.c.data)[instance * problem.c.batch_stride + row * problem.c.row_stride + col * problem.c.col_stride] =
          value;
      if (overflowed && problem.overflow) {
        atomicMin(problem.overflow, static_cast<unsigned long long>(problem.first_output +
                                                                    (instance * problem.m + row) * problem.n + col));
      }
    }
  }
}

}  // namespace mpmml::cuda
