// Forms of a max-plus step, c = max(c, a + b), as instructions. The forms of the instruction mixes compute two
// iterations at a time, because a maximum of three operands takes two sums.
//
// ptxas, not CUDA C++, selects the instructions: on sm_90 it fuses an addition and a maximum into one VIADDMNMX, and
// two maxima into one VIMNMX3. The forms with separate instructions are written so that it can't fuse them.
#pragma once
#include <cstdint>

#include "core/algebra/arithmetic.h"
#include "cuda/kernels/simd_step.cuh"
#include "lab/microbench/microbench.h"

namespace mpmml::microbench {

/// Maximum by the macro of the thesis' listing A (Ternary), and by the intrinsic of its listing B (Intrinsic).
struct Ternary {
  static __device__ __forceinline__ uint32_t max(uint32_t x, uint32_t y) {
    return static_cast<int32_t>(x) > static_cast<int32_t>(y) ? x : y;
  }
};
struct Intrinsic {
  static __device__ __forceinline__ uint32_t max(uint32_t x, uint32_t y) {
    return static_cast<uint32_t>(::max(static_cast<int32_t>(x), static_cast<int32_t>(y)));
  }
};

/// A step of the listings. The words are unsigned, so that the compiler can't assume that sums don't wrap. Otherwise
/// it could simplify max(a, a + Const).
template <class Max>
struct Plain {
  static constexpr Form form = Form::kPlain;
  static constexpr int lanes = 1;
  static constexpr bool is_signed = true;
  static constexpr int multiplied(int, int) { return 0; }

  static __device__ __forceinline__ uint32_t update(uint32_t x, const Arguments& p) {
    return Max::max(x, x + p.constant);
  }

  template <int X, int Y>
  static __device__ __forceinline__ void step(uint32_t (&c)[X][Y], const uint32_t (&a)[X], const uint32_t (&b)[Y]) {
#pragma unroll
    for (int i = 0; i < X; ++i) {
#pragma unroll
      for (int j = 0; j < Y; ++j) c[i][j] = Max::max(c[i][j], a[i] + b[j]);
    }
  }
};

/// Sums by `Sum`, and maxima of two operands, alternately signed and unsigned, so that no two of them are fused into a
/// maximum of three operands. Below 2^31 both give equal values.
template <Form form_, class Sum>
struct SeparateResults {
  static constexpr Form form = form_;
  static constexpr int lanes = 1;
  static constexpr bool is_signed = true;
  static constexpr int multiplied(int x, int y) { return form == Form::kMultiplyMax ? x * y : 0; }

  static __device__ __forceinline__ uint32_t update(uint32_t x, const Arguments& p) {
    return Intrinsic::max(x, x + p.constant);
  }

  template <int X, int Y>
  static __device__ __forceinline__ void two_steps(uint32_t (&c)[X][Y], const uint32_t (&a)[2][X],
                                                   const uint32_t (&b)[2][Y], const Arguments& p) {
#pragma unroll
    for (int i = 0; i < X; ++i) {
#pragma unroll
      for (int j = 0; j < Y; ++j) {
        c[i][j] = Intrinsic::max(c[i][j], Sum::sum(a[0][i], b[0][j], p));
        c[i][j] = ::max(c[i][j], Sum::sum(a[1][i], b[1][j], p));
      }
    }
  }
};

/// An addition on the ALU pipe. It has three operands, one of them 0, because an addition of two would be fused with
/// the maximum or move to the FMA pipe.
struct AluSum {
  static __device__ __forceinline__ uint32_t sum(uint32_t a, uint32_t b, const Arguments& p) {
    uint32_t sum;
    asm("{.reg .u32 t; add.u32 t, %1, %2; add.u32 %0, t, %3;}" : "=r"(sum) : "r"(a), "r"(b), "r"(p.zero));
    return sum;
  }
};

/// An addition on the FMA pipe: a · 1 + b.
struct MultiplySum {
  static __device__ __forceinline__ uint32_t sum(uint32_t a, uint32_t b, const Arguments& p) {
    return cuda::sum_by_multiply(a, p.one, b);
  }
};

using AddMax = SeparateResults<Form::kAddMax, AluSum>;
using MultiplyMax = SeparateResults<Form::kMultiplyMax, MultiplySum>;

using Int32 = cuda::Words<NativeArithmetic<MaxPlus<int32_t>>>;
using Uint16x2 = cuda::Words<Half<MaxPlus<int32_t>>>;

/// Signed 16-bit halves.
struct Int16x2 {
  static constexpr int kLanes = 2;
  static __device__ __forceinline__ uint32_t step(uint32_t acc, uint32_t a, uint32_t b) {
    return __viaddmax_s16x2(a, b, acc);
  }
};

/// Instruction stream of the pipelined family.
template <class Words>
struct MixedRows {
  static constexpr Form form = Form::kMixedRows;
  static constexpr int lanes = Words::kLanes;
  static constexpr bool is_signed = Words::kLanes == 1 || std::is_same_v<Words, Int16x2>;
  static constexpr int multiplied(int x, int y) {
    int count = 0;
    for (int i = 0; i < x; ++i) {
      for (int j = 0; j < y; ++j) count += Words::by_multiply(i, j);
    }
    return count;
  }

  static __device__ __forceinline__ uint32_t update(uint32_t x, const Arguments& p) {
    return Words::step(x, x, p.constant);
  }

  template <int X, int Y>
  static __device__ __forceinline__ void two_steps(uint32_t (&c)[X][Y], const uint32_t (&a)[2][X],
                                                   const uint32_t (&b)[2][Y], const Arguments& p) {
    cuda::two_steps<Words>(c, a, b, p.one);
  }
};

/// Addition and maximum in one instruction.
template <class Words>
struct Fused : MixedRows<Words> {
  static constexpr Form form = Form::kFused;
  static constexpr int multiplied(int, int) { return 0; }

  template <int X, int Y>
  static __device__ __forceinline__ void two_steps(uint32_t (&c)[X][Y], const uint32_t (&a)[2][X],
                                                   const uint32_t (&b)[2][Y], const Arguments&) {
#pragma unroll
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int i = 0; i < X; ++i) {
#pragma unroll
        for (int j = 0; j < Y; ++j) c[i][j] = Words::step(c[i][j], a[step][i], b[step][j]);
      }
    }
  }
};

/// Two additions on the FMA pipe and one maximum of three operands.
template <class Words>
struct MultiplyMax3 : MixedRows<Words> {
  static constexpr Form form = Form::kMultiplyMax3;
  static constexpr int multiplied(int x, int y) { return x * y; }

  template <int X, int Y>
  static __device__ __forceinline__ void two_steps(uint32_t (&c)[X][Y], const uint32_t (&a)[2][X],
                                                   const uint32_t (&b)[2][Y], const Arguments& p) {
#pragma unroll
    for (int i = 0; i < X; ++i) {
#pragma unroll
      for (int j = 0; j < Y; ++j) {
        c[i][j] = Words::combine(c[i][j], cuda::sum_by_multiply(a[0][i], p.one, b[0][j]),
                                 cuda::sum_by_multiply(a[1][i], p.one, b[1][j]));
      }
    }
  }
};

}  // namespace mpmml::microbench
