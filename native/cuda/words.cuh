// The instruction streams of the pipelined family: how it steps over 32-bit words of one or two elements.
//
// A step is acc ⊕ (a ⊗ b). Hopper's VIADDMNMX does one in one instruction of the ALU pipe, 64 lanes a clock and
// multiprocessor. IMAD (a·1 + b) adds on the FMA pipe beside it, and VIMNMX3 takes two such sums at once, so a stream of
// both forms passes that ceiling.
#pragma once
#include <cstdint>

#include "core/arithmetic.h"

namespace mpmml::cuda {

/// How an arithmetic's operands and accumulators lie in words, and the instructions on them.
template <class Arithmetic>
struct Words;

template <class S>
struct Words<Narrow<S>> {
  static constexpr int kLanes = 1;
  /// Steps run on sm_52 and newer with the instructions that the pipes are made for.
  static constexpr int kFullSpeedFrom = 52;

  // The fused instructions by name: left to the compiler they are found too, but scheduled 2.5 % slower (H200).
  static __device__ __forceinline__ uint32_t step(uint32_t acc, uint32_t a, uint32_t b) {
    return S::maximizes ? __viaddmax_s32(a, b, acc) : __viaddmin_s32(a, b, acc);
  }
  static __device__ __forceinline__ uint32_t combine(uint32_t x, uint32_t y) {
    return static_cast<uint32_t>(S::combine(static_cast<int32_t>(x), static_cast<int32_t>(y)));
  }
  static __device__ __forceinline__ uint32_t combine(uint32_t x, uint32_t y, uint32_t z) {
    return S::maximizes ? __vimax3_s32(x, y, z) : __vimin3_s32(x, y, z);
  }
  /// Whether element (i, j) of a thread's tile is one whose sums IMAD makes. Even rows: of the patterns tried on an H200
  /// (rows, columns, checkerboards, k-steps, 3/8 to 3/4 of the elements) the fastest, 1.09 times the ceiling of
  /// VIADDMNMX alone; what differs is register-bank conflicts and scheduling.
  static constexpr __host__ __device__ bool by_multiply(int i, int /*j*/) { return i % 2 == 0; }
};

template <class S>
struct Words<Half<S>> {
  static constexpr int kLanes = 2;
  /// Older GPUs emulate arithmetic on packed 16-bit integers.
  static constexpr int kFullSpeedFrom = 90;

  static __device__ __forceinline__ uint32_t step(uint32_t acc, uint32_t a, uint32_t b) {
    return S::maximizes ? __viaddmax_u16x2(a, b, acc) : __viaddmin_u16x2(a, b, acc);
  }
  static __device__ __forceinline__ uint32_t combine(uint32_t x, uint32_t y) {
    return S::maximizes ? __vmaxu2(x, y) : __vminu2(x, y);
  }
  static __device__ __forceinline__ uint32_t combine(uint32_t x, uint32_t y, uint32_t z) {
    return S::maximizes ? __vimax3_u16x2(x, y, z) : __vimin3_u16x2(x, y, z);
  }
  /// Half a row more than for one element a word: 1 % faster here (H200).
  static constexpr __host__ __device__ bool by_multiply(int i, int j) { return i % 2 == 0 || (i == 7 && j < 4); }
};

/// a ⊗ b on the FMA pipe. `one` is 1, but a kernel argument: were it a constant, the compiler would turn the IMAD back
/// into an addition on the ALU pipe. No carry passes between 16-bit lanes, because their sums fit 16 bits.
__device__ __forceinline__ uint32_t sum_by_multiply(uint32_t a, uint32_t one, uint32_t b) { return a * one + b; }

/// Two steps of a thread's tile.
template <class W, int TM, int TN>
__device__ __forceinline__ void two_steps(uint32_t (&acc)[TM][TN], const uint32_t (&a)[2][TM],
                                          const uint32_t (&b)[2][TN], uint32_t one) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
#if __CUDA_ARCH__ >= 900
      if (W::by_multiply(i, j)) {
        acc[i][j] =
            W::combine(acc[i][j], sum_by_multiply(a[0][i], one, b[0][j]), sum_by_multiply(a[1][i], one, b[1][j]));
        continue;
      }
#elif __CUDA_ARCH__ >= 700
      // Additions on the FMA pipe, maxima on the ALU, which these GPUs have no fused instruction for.
      acc[i][j] = W::combine(acc[i][j], sum_by_multiply(a[0][i], one, b[0][j]));
      acc[i][j] = W::combine(acc[i][j], sum_by_multiply(a[1][i], one, b[1][j]));
      continue;
#endif
      acc[i][j] = W::step(acc[i][j], a[0][i], b[0][j]);
      acc[i][j] = W::step(acc[i][j], a[1][i], b[1][j]);
    }
  }
}

}  // namespace mpmml::cuda
