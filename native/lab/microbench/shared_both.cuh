// Algorithm 3: both operands in shared memory, read once per K iterations. The listing repeats the same X·Y sums K
// times, but a compiler computes them only once. So here b is updated in between as in Algorithm 2, and these
// operations are counted: 2·(X·Y + Y·(K−1)/K) per iteration.
#pragma once
#include "lab/microbench/shared_operands.cuh"

namespace mpmml::microbench {

template <class Steps, int X, int Y, int K, int kUnrolled>
__global__ void shared_both_kernel(Arguments p) {
  extern __shared__ __align__(16) uint32_t shared[];
  const uint32_t* shared_b = shared + X * blockDim.y * p.m;
  fill(shared, (X * blockDim.y + Y * blockDim.x) * p.m, p);
  uint32_t c[X][Y];
  clear(c);
  __syncthreads();
  const Stopwatch stopwatch;
#pragma unroll 1
  for (int n = 0; n < p.n; ++n) {
#pragma unroll(kUnrolled)
    for (int m = 0; m < p.m; ++m) {
      uint32_t a[X], b[Y];
      read_column(a, shared, m, p.m);
      read_row(b, shared_b, m);
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
struct SharedBoth {
  static Instance instance(const char* max) {
    constexpr int kUnrolled = unrolled_m(K);
    const auto* function = reinterpret_cast<const void*>(&shared_both_kernel<Steps, X, Y, K, kUnrolled>);
    Instance instance = instance_of<Steps, X, Y>(max, function);
    instance.k = K;
    instance.body = K * kUnrolled;
    instance.updates = double(Y) * (K - 1) / K;
    instance.shared_a = instance.shared_b = true;
    return instance;
  }
};

}  // namespace mpmml::microbench
