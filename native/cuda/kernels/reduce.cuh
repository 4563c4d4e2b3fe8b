// Reductions over the lanes of a warp. All lanes must call them.
#pragma once
#include <cstdint>

#include "core/algebra/semiring.h"

namespace mpmml::cuda {

/// Reduces a number, and returns the result to all lanes. `join` must be commutative and associative.
template <class T, class Join>
__device__ __forceinline__ T reduce_warp(T x, Join join) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) x = join(x, __shfl_xor_sync(~0u, x, lanes));
  return x;
}

/// Range of integers, such as order keys.
struct KeyRange {
  int32_t least = kHighest<int32_t>, most = kLowest<int32_t>;

  __device__ __forceinline__ void include(int32_t key) {
    least = min(least, key);
    most = max(most, key);
  }
  __device__ __forceinline__ void merge(const KeyRange& other) {
    least = min(least, other.least);
    most = max(most, other.most);
  }
  __device__ __forceinline__ bool is_empty() const { return least > most; }
  __device__ __forceinline__ void join_lanes() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    least = __reduce_min_sync(~0u, least);
    most = __reduce_max_sync(~0u, most);
#else
    least = reduce_warp(least, [](int32_t x, int32_t y) { return min(x, y); });
    most = reduce_warp(most, [](int32_t x, int32_t y) { return max(x, y); });
#endif
  }
};

}  // namespace mpmml::cuda
