// The MPMML kernel: Algorithm 5 of P. P. Ghalsasi, "Max-Plus Matrix Multiplication Library for GPUs – MPMML" (Colorado
// State University, 2019), chapter 3, with the thesis' names.
//
// A block of BS_i × BS_j threads computes a tile of C of (X·BS_i) × (Y·BS_j). Each thread computes X × Y of it, in
// sub-patches of Sub_X × Sub_Y: one sub-patch is the block pattern, Sub = 1 the cyclic one. MEMSEL_A and MEMSEL_B say
// how A and B reach the registers: 0 in tiles of depth S through shared memory, 1 directly from global memory
// (mpmml_operand.cuh). With Transpose, A is stored transposed beforehand (launch.cuh). The instances of a
// batch (Ninst) are the grid's third dimension.
#pragma once
#include "core/algebra/arithmetic.h"
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/epilogue.cuh"
#include "lab/thesis/mpmml_operand.cuh"

namespace mpmml::cuda {

template <class Config, class Arithmetic>
__global__ void mpmml_kernel(DeviceProblem problem, Arithmetic arithmetic);

template <int X_, int Y_, int BS_i_, int BS_j_, int S_, int MEMSEL_A, int MEMSEL_B, int Sub_X_, int Sub_Y_,
          int Transpose>
struct Mpmml {
  static constexpr int X = X_, Y = Y_, BS_i = BS_i_, BS_j = BS_j_, S = S_, Sub_X = Sub_X_, Sub_Y = Sub_Y_;
  static constexpr bool kTransposes = Transpose != 0;
  static_assert(X % Sub_X == 0 && Y % Sub_Y == 0, "sub-patches tile the thread's patch");
  static_assert(BS_i * BS_j <= 1024, "a block has at most 1024 threads");

  static constexpr int kThreads = BS_i * BS_j;
  static constexpr int kTileM = X * BS_i;
  static constexpr int kTileN = Y * BS_j;
  using PatchA = Patch<X, Sub_X, BS_i>;
  using PatchB = Patch<Y, Sub_Y, BS_j>;

  template <class Arithmetic>
  using OperandA = std::conditional_t<MEMSEL_A == 0, SharedOperand<Arithmetic, PatchA, S, kThreads, Transpose == 0, 0>,
                                      GlobalOperand<Arithmetic, PatchA>>;
  template <class Arithmetic>
  using OperandB = std::conditional_t<MEMSEL_B == 0, SharedOperand<Arithmetic, PatchB, S, kThreads, false, 1>,
                                      GlobalOperand<Arithmetic, PatchB>>;

  /// Blocks that a multiprocessor's 65 536 registers should hold. A thread needs its accumulators, and about 56
  /// registers more for fragments and addresses (a 64-bit address for each line read from global memory). Without this
  /// bound the compiler takes 255 registers to load far ahead (seen for sm_90).
  static constexpr int blocks_per_multiprocessor(int accumulator_bytes) {
    const int fit = 65536 / (kThreads * (X * Y * accumulator_bytes / 4 + 56 + 2 * (MEMSEL_A * X + MEMSEL_B * Y)));
    return fit > 1 ? fit : 1;
  }
};

template <class Config, class Arithmetic>
__global__ void __launch_bounds__(Config::kThreads,
                                  Config::blocks_per_multiprocessor(sizeof(typename Arithmetic::Accumulator)))
    mpmml_kernel(DeviceProblem problem, Arithmetic arithmetic) {
  using Semiring = typename Arithmetic::Semiring;
  using Element = typename Arithmetic::Element;
  using OperandA = typename Config::template OperandA<Arithmetic>;
  using OperandB = typename Config::template OperandB<Arithmetic>;
  constexpr int X = Config::X, Y = Config::Y, BS_j = Config::BS_j, S = Config::S;

  const int64_t tiles_n = ceil_div(problem.n, Config::kTileN);
  const int64_t first_row = blockIdx.x / tiles_n * Config::kTileM;
  const int64_t first_col = blockIdx.x % tiles_n * Config::kTileN;
  const int64_t instance = blockIdx.z;
  const int thread_i = threadIdx.x / BS_j;
  const int thread_j = threadIdx.x % BS_j;

  const MatrixView &a = problem.a, &b = problem.b;
  const auto* data_a = static_cast<const Element*>(a.data) + instance * a.batch_stride + first_row * a.row_stride;
  const auto* data_b = static_cast<const Element*>(b.data) + instance * b.batch_stride + first_col * b.col_stride;
  OperandA operand_a(arithmetic, {data_a, a.row_stride, a.col_stride, problem.m - first_row, Semiring::border_a},
                     thread_i);
  OperandB operand_b(arithmetic, {data_b, b.col_stride, b.row_stride, problem.n - first_col, Semiring::border_b},
                     thread_j);

  typename Arithmetic::Accumulator c[X][Y];
#pragma unroll
  for (int i = 0; i < X; ++i) {
#pragma unroll
    for (int j = 0; j < Y; ++j) c[i][j] = arithmetic.initial();
  }
  const auto step = [&](int k) {
    typename Arithmetic::Operand fragment_a[X], fragment_b[Y];
    operand_a.read(fragment_a, k);
    operand_b.read(fragment_b, k);
#pragma unroll
    for (int i = 0; i < X; ++i) {
#pragma unroll
      for (int j = 0; j < Y; ++j) c[i][j] = arithmetic.accumulate(c[i][j], fragment_a[i], fragment_b[j]);
    }
  };

  for (int64_t k0 = 0; k0 < problem.k; k0 += S) {
    const int64_t depth = problem.k - k0;
    operand_a.copy(depth);
    operand_b.copy(depth);
    if constexpr (OperandA::kShared || OperandB::kShared) __syncthreads();
    // Tiles in shared memory are padded with border elements, but operands in global memory aren't.
    if (OperandA::kShared && OperandB::kShared || depth >= S) {
#pragma unroll
      for (int k = 0; k < S; ++k) step(k);
    } else {
#pragma unroll 1
      for (int k = 0; k < depth; ++k) step(k);
    }
    if constexpr (OperandA::kShared || OperandB::kShared) __syncthreads();
  }

  const Epilogue<Arithmetic> epilogue(problem, arithmetic, blockIdx.z);
#pragma unroll
  for (int i = 0; i < X; ++i) {
#pragma unroll
    for (int j = 0; j < Y; ++j) {
      epilogue.store(first_row + Config::PatchA::line(i, thread_i), first_col + Config::PatchB::line(j, thread_j),
                     c[i][j]);
    }
  }
}

}  // namespace mpmml::cuda
