// Algorithm 1: all operands in registers. As in the listing, one a and one b are updated in place by X + Y steps after
// the X·Y steps of an iteration, so that no sum is the same in two iterations. The thesis counts 2·(X·Y+X+Y) operations.
#pragma once
#include "lab/microbench/frame.cuh"

namespace mpmml::microbench {

template <class Steps, int X, int Y, int kUnrolled>
__global__ void reg_reg_kernel(Arguments p) {
  uint32_t a[X], b[Y], c[X][Y];
  set(a, b, p);
  clear(c);
  const Stopwatch stopwatch;
#pragma unroll 1
  for (int n = 0; n < p.n; n += kUnrolled) {
#pragma unroll
    for (int iteration = 0; iteration < kUnrolled; ++iteration) {
      Steps::step(c, a, b);
      update<Steps>(a, a, p);
      update<Steps>(b, b, p);
    }
  }
  stopwatch.stop(p);
  keep(c, p);
}

template <class Steps, int X, int Y>
struct RegReg {
  static Instance instance(const char* max) {
    constexpr int kUnrolled = unrolled(X * Y);
    return register_instance<Steps, X, Y>(max, reinterpret_cast<const void*>(&reg_reg_kernel<Steps, X, Y, kUnrolled>),
                                          kUnrolled);
  }
};

}  // namespace mpmml::microbench
