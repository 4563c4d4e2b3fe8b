// Algorithm 2: a in shared memory, b in registers and updated in each iteration. a is read once per K iterations; the
// thesis counts 2·(X·Y+Y) operations.
#pragma once
#include "lab/microbench/shared_operands.cuh"

namespace mpmml::microbench {

template <class Steps, int X, int Y, int K, int kUnrolled>
__global__ void shared_one_kernel(Arguments p) {
  extern __shared__ __align__(16) uint32_t shared[];
  fill(shared, X * blockDim.y * p.m, p);
  uint32_t b[Y], c[X][Y];
#pragma unroll
  for (int j = 0; j < Y; ++j) b[j] = value(p, j);
  clear(c);
  __syncthreads();
  const Stopwatch stopwatch;
#pragma unroll 1
  for (int n = 0; n < p.n; ++n) {
#pragma unroll(kUnrolled)
    for (int m = 0; m < p.m; ++m) {
      uint32_t a[X];
      read_column(a, shared, m, p.m);
#pragma unroll
      for (int k = 0; k < K; ++k) {
        Steps::step(c, a, b);
        update<Steps>(b, b, p);
      }
    }
  }
  stopwatch.stop(p);
  keep(c, p);
}

template <class Steps, int X, int Y, int K>
struct SharedOne {
  static Instance instance(const char* max) {
    constexpr int kUnrolled = unrolled_m(K);
    const auto* function = reinterpret_cast<const void*>(&shared_one_kernel<Steps, X, Y, K, kUnrolled>);
    Instance instance = instance_of<Steps, X, Y>(max, function);
    instance.k = K;
    instance.body = K * kUnrolled;
    instance.updates = Y;
    instance.shared_a = true;
    return instance;
  }
};

}  // namespace mpmml::microbench
