// A pass over the elements of an operand on the device, which finds out what is known of them.
#pragma once
#include <cuda_runtime_api.h>

#include "core/algebra/element_types.h"
#include "cuda/runtime/facts.h"

namespace mpmml::cuda {

/// The result of a scan: what Facts has.
struct ScanResult {
  int32_t minimum;
  int32_t maximum;
  int32_t has_lowest;
  int32_t has_highest;
  int32_t has_negative;

  ValueBounds facts() const {
    ValueBounds facts;
    if (minimum <= maximum) facts.include(minimum, maximum);
    facts.has_lowest = has_lowest != 0;
    facts.has_highest = has_highest != 0;
    facts.has_negative = has_negative != 0;
    return facts;
  }
};

/// Queues the preparation of `count` results for scans. `results` is device memory.
void reset_scans(ScanResult* results, int count, cudaStream_t stream);

/// Whether Facts say something about elements of a type: they tell of no order, and of no negative ones, of truth values.
template <class Element>
constexpr bool has_facts = has_order_keys<Element> || std::is_signed_v<Element>;
inline bool has_facts_of(DataType dtype) {
  return with_element(dtype, [](auto element) { return has_facts<decltype(element)>; });
}

/// Queues a scan of `count` contiguous elements, if it can find something. `result` is device memory that has been prepared.
void find_facts(DataType dtype, Storage storage, const void* data, int64_t count, ScanResult* result,
                cudaStream_t stream);

}  // namespace mpmml::cuda
