#include <algorithm>

#include "core/dispatch.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/range.h"

namespace mpmml::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 1024;

// Neutral elements of the minimum and the maximum.
constexpr int32_t kHighestPlace = kHighest<int32_t>;
constexpr int32_t kLowestPlace = kLowest<int32_t>;

__global__ void reset(ScanResult* results) { results[threadIdx.x] = {kHighestPlace, kLowestPlace, 0, 0}; }

template <class S, class Stored>
__global__ void __launch_bounds__(kThreads) scan(const Stored* data, int64_t count, ScanResult* result) {
  int32_t minimum = kHighestPlace;
  int32_t maximum = kLowestPlace;
  bool has_zero = false, has_outsider = false;
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x; index < count; index += step) {
    const auto value = widened<S>(data[index]);
    if constexpr (has_range<S>) {
      const int32_t place = place_of(value);
      const bool zero = value == S::zero;
      has_zero |= zero;
      minimum = min(minimum, zero ? minimum : place);
      maximum = max(maximum, zero ? maximum : place);
    }
    has_outsider |= !S::holds(value);
  }
  constexpr unsigned kAll = 0xffffffffu;
  if constexpr (has_range<S>) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      minimum = min(minimum, __shfl_down_sync(kAll, minimum, lanes));
      maximum = max(maximum, __shfl_down_sync(kAll, maximum, lanes));
    }
    has_zero = __any_sync(kAll, has_zero);
  }
  has_outsider = __any_sync(kAll, has_outsider);
  if (threadIdx.x % 32 == 0) {
    if constexpr (has_range<S>) {
      atomicMin(&result->minimum, minimum);
      atomicMax(&result->maximum, maximum);
      if (has_zero) atomicOr(&result->has_zero, 1);
    }
    if (has_outsider) atomicOr(&result->has_outsider, 1);
  }
}

template <class S>
__global__ void __launch_bounds__(kThreads) widen(const int16_t* from, int32_t* to, int64_t count) {
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x; index < count; index += step) {
    to[index] = widened<S>(from[index]);
  }
}

unsigned blocks_for(int64_t count) {
  return static_cast<unsigned>(std::min<int64_t>(kBlocks, ceil_div(count, kThreads)));
}

}  // namespace

void reset_scans(ScanResult* results, int count, cudaStream_t stream) {
  reset<<<1, count, 0, stream>>>(results);
  MPMML_CUDA(cudaGetLastError());
}

void scan_range(const Operation& operation, Storage storage, const void* data, int64_t count, ScanResult* result,
                cudaStream_t stream) {
  with_scanned_semiring(operation, [&](auto value) {
    using S = decltype(value);
    using Element = typename S::Element;
    const unsigned blocks = blocks_for(count);
    if constexpr (std::is_same_v<Element, int32_t>) {
      if (storage == Storage::kInt16) {
        scan<S><<<blocks, kThreads, 0, stream>>>(static_cast<const int16_t*>(data), count, result);
        MPMML_CUDA(cudaGetLastError());
        return;
      }
    }
    scan<S><<<blocks, kThreads, 0, stream>>>(static_cast<const Element*>(data), count, result);
    MPMML_CUDA(cudaGetLastError());
  });
}

void widen(const Operation& operation, const void* from, void* to, int64_t count, cudaStream_t stream) {
  with_semiring<OnInt32>(operation, [&](auto value) {
    using S = decltype(value);
    widen<S><<<blocks_for(count), kThreads, 0, stream>>>(static_cast<const int16_t*>(from), static_cast<int32_t*>(to),
                                                         count);
    MPMML_CUDA(cudaGetLastError());
  });
}

}  // namespace mpmml::cuda
