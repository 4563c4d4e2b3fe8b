// Passes over the elements of an operand on the device: value-range analysis, and the conversion of int16 to elements.
#pragma once
#include <cuda_runtime_api.h>

#include "core/range.h"

namespace mpmml::cuda {

/// The result of a scan: the least and the greatest place (place_of) of the elements other than zero, whether there is
/// a zero, and whether there is a value that isn't an element.
struct ScanResult {
  int32_t minimum;
  int32_t maximum;
  int32_t has_zero;
  int32_t has_outsider;

  ValueRange range() const {
    ValueRange range;
    if (minimum <= maximum) {
      range.minimum = minimum;
      range.maximum = maximum;
    }
    range.has_zero = has_zero != 0;
    range.has_outsider = has_outsider != 0;
    return range;
  }
};

/// Queues the preparation of `count` results for scans. `results` is device memory.
void reset_scans(ScanResult* results, int count, cudaStream_t stream);

/// Queues a scan of `count` contiguous elements, if something must be known about them (is_scanned). `result` is device
/// memory that has been prepared.
void scan_range(const Operation& operation, Storage storage, const void* data, int64_t count, ScanResult* result,
                cudaStream_t stream);

/// Queues the conversion of `count` contiguous elements stored as int16 into int32.
void widen(const Operation& operation, const void* from, void* to, int64_t count, cudaStream_t stream);

}  // namespace mpmml::cuda
