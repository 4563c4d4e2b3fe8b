// Algorithm 1: all operands in registers. Each iteration does X·Y steps and updates a and b by X + Y more, so that no
// sum is the same in two iterations; the thesis counts 2·(X·Y+X+Y) operations. The instruction mixes use this frame
// too.
#pragma once
#include "lab/microbench/float_steps.cuh"
#include "lab/microbench/frame.cuh"

namespace mpmml::microbench {

template <class Steps, int X, int Y, int kUnrolled>
__global__ void reg_reg_kernel(Arguments p) {
  uint32_t a[2][X], b[2][Y], c[X][Y];
#pragma unroll
  for (int i = 0; i < X; ++i) a[0][i] = value(p, i);
#pragma unroll
  for (int j = 0; j < Y; ++j) b[0][j] = value(p, X + j);
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
struct RegReg {
  static Instance instance(const char* max) {
    constexpr int kUnrolled = unrolled(X * Y);
    const auto* function = reinterpret_cast<const void*>(&reg_reg_kernel<Steps, X, Y, kUnrolled>);
    Instance instance = instance_of<Steps, X, Y>(max, function);
    instance.unrolled = instance.body = kUnrolled;
    instance.updates = Steps::lanes * (X + Y);
    return instance;
  }
};

}  // namespace mpmml::microbench
