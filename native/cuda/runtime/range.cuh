// Shared by scans of elements on the device.
#pragma once
#include "core/algebra/element_types.h"
#include "cuda/kernels/reduce.cuh"
#include "cuda/runtime/range.h"

namespace mpmml::cuda {

/// Partial scan result of a thread.
template <class Stored>
struct FoundFacts {
  using Element = typename ElementOf<Stored>::Type;
  KeyRange range;
  bool has_lowest = false, has_highest = false, has_negative = false;

  __device__ __forceinline__ void include(Stored value) {
    if constexpr (has_order_keys<Element>) {
      const int32_t key = order_key(static_cast<Element>(value));
      const bool lowest = value == kLowest<Stored>, highest = value == kHighest<Stored>;
      has_lowest |= lowest;
      has_highest |= highest;
      if (!lowest && !highest) range.include(key);
    }
    has_negative |= value < 0;
  }

  /// Reduces the results of a warp and merges them into `result`. All threads of the warp must call it.
  __device__ __forceinline__ void add_to(ScanResult* result) {
    constexpr unsigned kAll = ~0u;
    if constexpr (has_order_keys<Element>) {
      range.join_lanes();
      has_lowest = __any_sync(kAll, has_lowest);
      has_highest = __any_sync(kAll, has_highest);
    }
    has_negative = __any_sync(kAll, has_negative);
    if (threadIdx.x % 32 == 0) {
      if constexpr (has_order_keys<Element>) {
        atomicMin(&result->minimum, range.least);
        atomicMax(&result->maximum, range.most);
        if (has_lowest) atomicOr(&result->has_lowest, 1);
        if (has_highest) atomicOr(&result->has_highest, 1);
      }
      if (has_negative) atomicOr(&result->has_negative, 1);
    }
  }
};

/// Calls `body` with a value of the storage type, if a scan of it has a result (has_facts).
template <class Body>
void with_scanned(DataType dtype, Storage storage, Body&& body) {
  with_element(dtype, [&](auto element) {
    using Element = decltype(element);
    if constexpr (has_narrow<Element>) {
      if (storage == Storage::kNarrow) return body(NarrowType<Element>{});
    }
    if constexpr (has_facts<Element>) body(element);
  });
}

}  // namespace mpmml::cuda
