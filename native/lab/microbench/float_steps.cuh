// Steps on float32, stored in the frame's words: max-plus, c = max(c, a + b), and plus-times, c = c + a · b.
#pragma once
#include "lab/microbench/steps.cuh"

namespace mpmml::microbench {

/// Base of the float32 steps. `Step` provides step(c, a, b) and update(x, constant).
template <Form form_, class Step>
struct FloatSteps {
  static constexpr Form form = form_;
  static constexpr int lanes = 1;
  static constexpr bool is_signed = true;
  static constexpr int multiplied(int, int) { return 0; }

  static __device__ __forceinline__ uint32_t update(uint32_t x, const Arguments& p) {
    // The constant is from 1/2 to 1, so that neither operand becomes an infinity.
    const float constant = __uint_as_float(0x3f000000u | p.constant);
    return __float_as_uint(Step::update(__uint_as_float(x), constant));
  }

  template <int X, int Y>
  static __device__ __forceinline__ void two_steps(uint32_t (&c)[X][Y], const uint32_t (&a)[2][X],
                                                   const uint32_t (&b)[2][Y], const Arguments&) {
#pragma unroll
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int i = 0; i < X; ++i) {
#pragma unroll
        for (int j = 0; j < Y; ++j) {
          c[i][j] = __float_as_uint(
              Step::step(__uint_as_float(c[i][j]), __uint_as_float(a[step][i]), __uint_as_float(b[step][j])));
        }
      }
    }
  }
};

struct FloatMaxPlusStep {
  static __device__ __forceinline__ float step(float c, float a, float b) { return fmaxf(c, a + b); }
  static __device__ __forceinline__ float update(float x, float constant) { return fmaxf(x, x + constant); }
};
struct FloatPlusTimesStep {
  static __device__ __forceinline__ float step(float c, float a, float b) { return fmaf(a, b, c); }
  static __device__ __forceinline__ float update(float x, float constant) { return fmaf(x, constant, constant); }
};

using FloatAddMax = FloatSteps<Form::kFloatAddMax, FloatMaxPlusStep>;
using FloatMultiplyAdd = FloatSteps<Form::kFloatMultiplyAdd, FloatPlusTimesStep>;

}  // namespace mpmml::microbench
