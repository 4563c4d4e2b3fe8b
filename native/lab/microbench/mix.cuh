// Instruction mixes: a max-plus step in alternative instructions, with all operands in registers as in Algorithm 1. The
// frame computes two iterations at a time with a pair of operands, because a maximum of three operands takes two sums.
#pragma once
#include "lab/microbench/float_steps.cuh"
#include "lab/microbench/frame.cuh"

namespace mpmml::microbench {

template <class Steps, int X, int Y, int kUnrolled>
__global__ void mix_kernel(Arguments p) {
  uint32_t a[2][X], b[2][Y], c[X][Y];
  set(a[0], b[0], p);
  clear(c);
  const Stopwatch stopwatch;
#pragma unroll 1
  for (int n = 0; n < p.n; n += kUnrolled) {
#pragma unroll
    for (int pair = 0; pair < kUnrolled; pair += 2) {
      update<Steps>(a[1], a[0], p);
      update<Steps>(b[1], b[0], p);
      Steps::two_steps(c, a, b, p);
      update<Steps>(a[0], a[1], p);
      update<Steps>(b[0], b[1], p);
    }
  }
  stopwatch.stop(p);
  keep(c, p);
}

template <class Steps, int X, int Y>
struct Mix {
  static Instance instance(const char* max) {
    constexpr int kUnrolled = unrolled(X * Y);
    return register_instance<Steps, X, Y>(max, reinterpret_cast<const void*>(&mix_kernel<Steps, X, Y, kUnrolled>),
                                          kUnrolled);
  }
};

}  // namespace mpmml::microbench
