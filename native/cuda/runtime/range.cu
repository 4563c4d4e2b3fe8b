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

__global__ void reset(ScanResult* results) { results[threadIdx.x] = {kHighestPlace, kLowestPlace, 0, 0, 0}; }

template <class Stored>
__global__ void __launch_bounds__(kThreads) scan(const Stored* data, int64_t count, ScanResult* result) {
  using Element = std::conditional_t<std::is_same_v<Stored, int16_t>, int32_t, Stored>;
  int32_t minimum = kHighestPlace;
  int32_t maximum = kLowestPlace;
  bool has_lowest = false, has_highest = false, has_negative = false;
  const auto include = [&](Stored value) {
    if constexpr (has_places<Element>) {
      const int32_t place = place_of(static_cast<Element>(value));
      const bool lowest = value == kLowest<Stored>, highest = value == kHighest<Stored>;
      has_lowest |= lowest;
      has_highest |= highest;
      minimum = min(minimum, lowest || highest ? minimum : place);
      maximum = max(maximum, lowest || highest ? maximum : place);
    }
    has_negative |= value < 0;
  };
  // As wide as an access can be, which int16 needs most: 89 µs for 8192² became XX (H200).
  constexpr int64_t kTogether = sizeof(int4) / sizeof(Stored);
  const int64_t step = int64_t{gridDim.x} * kThreads, thread = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t chunks = reinterpret_cast<uintptr_t>(data) % sizeof(int4) == 0 ? count / kTogether : 0;
  const auto* const wide = reinterpret_cast<const int4*>(data);
#pragma unroll 4
  for (int64_t index = thread; index < chunks; index += step) {
    const int4 chunk = wide[index];
    Stored values[kTogether];
    memcpy(values, &chunk, sizeof(chunk));
    for (const Stored value : values) include(value);
  }
  for (int64_t index = chunks * kTogether + thread; index < count; index += step) include(data[index]);
  constexpr unsigned kAll = 0xffffffffu;
  if constexpr (has_places<Element>) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      minimum = min(minimum, __shfl_down_sync(kAll, minimum, lanes));
      maximum = max(maximum, __shfl_down_sync(kAll, maximum, lanes));
    }
    has_lowest = __any_sync(kAll, has_lowest);
    has_highest = __any_sync(kAll, has_highest);
  }
  has_negative = __any_sync(kAll, has_negative);
  if (threadIdx.x % 32 == 0) {
    if constexpr (has_places<Element>) {
      atomicMin(&result->minimum, minimum);
      atomicMax(&result->maximum, maximum);
      if (has_lowest) atomicOr(&result->has_lowest, 1);
      if (has_highest) atomicOr(&result->has_highest, 1);
    }
    if (has_negative) atomicOr(&result->has_negative, 1);
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

void find_facts(DataType dtype, Storage storage, const void* data, int64_t count, ScanResult* result,
                cudaStream_t stream) {
  const auto run = [&](auto stored) {
    using Stored = decltype(stored);
    scan<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<const Stored*>(data), count, result);
    MPMML_CUDA(cudaGetLastError());
  };
  if (count == 0) return;
  if (storage == Storage::kInt16) return run(int16_t{});
  switch (dtype) {
    case DataType::kInt32:
      return run(int32_t{});
    case DataType::kFloat32:
      return run(float{});
    case DataType::kFloat64:
      return run(double{});
    case DataType::kUint8:
      return;
  }
}

}  // namespace mpmml::cuda
