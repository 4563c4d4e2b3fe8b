// Range of the values in a contiguous run of elements.
#pragma once
#include <cstdint>

#include "core/algebra/value_range.h"

namespace mpmml {

/// Scans `count` contiguous elements of a semiring with the given zero. A zero of integers must be the least or the
/// greatest value of the type.
Range scan_run(const int32_t* data, int64_t count, int32_t zero);
Range scan_run(const float* data, int64_t count, float zero);

}  // namespace mpmml
