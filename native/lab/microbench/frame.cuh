// Shared by the microbenchmarks: operands from the thread's index, the elapsed clocks of the loop, and a result that
// depends on every accumulator, so that the compiler can't eliminate code.
#pragma once
#include <cstdint>

#include "lab/microbench/steps.cuh"

namespace mpmml::microbench {

__device__ __forceinline__ uint64_t nanoseconds() {
  uint64_t time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}

__device__ __forceinline__ uint64_t clocks() {
  uint64_t time;
  asm volatile("mov.u64 %0, %clock64;" : "=l"(time));
  return time;
}

/// Measures the loop of the grid's first thread.
class Stopwatch {
 public:
  __device__ __forceinline__ Stopwatch() : clocks_(clocks()), nanoseconds_(nanoseconds()) {}
  __device__ __forceinline__ void stop(const Arguments& p) const {
    if (blockIdx.x + blockIdx.y + threadIdx.x + threadIdx.y > 0) return;
    p.clock[0] = clocks() - clocks_;
    p.clock[1] = nanoseconds() - nanoseconds_;
  }

 private:
  uint64_t clocks_, nanoseconds_;
};

/// Returns small values that differ from each other. Packed forms use each half as one value.
__device__ __forceinline__ uint32_t value(const Arguments& p, int index) {
  return (p.seed * (index + 1) + threadIdx.x * 3 + threadIdx.y * 5) & 0x00ff00ff;
}

/// Initializes the operands of the first iteration, in registers.
template <int X, int Y>
__device__ __forceinline__ void set(uint32_t (&a)[X], uint32_t (&b)[Y], const Arguments& p) {
#pragma unroll
  for (int i = 0; i < X; ++i) a[i] = value(p, i);
#pragma unroll
  for (int j = 0; j < Y; ++j) b[j] = value(p, X + j);
}

template <int X, int Y>
__device__ __forceinline__ void clear(uint32_t (&c)[X][Y]) {
#pragma unroll
  for (int i = 0; i < X; ++i) {
#pragma unroll
    for (int j = 0; j < Y; ++j) c[i][j] = 0;
  }
}

template <int X, int Y>
__device__ __forceinline__ void keep(const uint32_t (&c)[X][Y], const Arguments& p) {
  uint32_t all = 0;
#pragma unroll
  for (int i = 0; i < X; ++i) {
#pragma unroll
    for (int j = 0; j < Y; ++j) all ^= c[i][j];
  }
  const int64_t block = int64_t{blockIdx.y} * gridDim.x + blockIdx.x;
  p.results[(block * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x] = all;
}

/// Computes the operands of the next iteration from the current ones.
template <class Steps, int N>
__device__ __forceinline__ void update(uint32_t (&to)[N], const uint32_t (&from)[N], const Arguments& p) {
#pragma unroll
  for (int index = 0; index < N; ++index) to[index] = Steps::update(from[index], p);
}

/// Returns the table row of a kernel that uses no memory and doesn't update its operands.
template <class Steps, int X, int Y>
Instance instance_of(const char* max, const void* function) {
  Instance instance{};
  instance.x = X;
  instance.y = Y;
  instance.k = 1;
  instance.max = max;
  instance.function = function;
  instance.unrolled = instance.body = 1;
  instance.form = Steps::form;
  instance.lanes = Steps::lanes;
  instance.is_signed = Steps::is_signed;
  instance.multiplied = Steps::multiplied(X, Y);
  return instance;
}

/// Returns the table row of a kernel whose a and b are in registers and are updated in each iteration.
template <class Steps, int X, int Y>
Instance register_instance(const char* max, const void* function, int unrolled) {
  Instance instance = instance_of<Steps, X, Y>(max, function);
  instance.unrolled = instance.body = unrolled;
  instance.updates = Steps::lanes * (X + Y);
  return instance;
}

/// Returns the unroll factor for a loop body of about 256 steps: small enough for the instruction cache, and large
/// enough that the loop overhead doesn't matter.
constexpr int unrolled(int steps) { return steps >= 128 ? 2 : steps >= 64 ? 4 : steps >= 32 ? 8 : 16; }

}  // namespace mpmml::microbench
