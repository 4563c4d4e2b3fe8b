// The range of neighbouring elements.
#pragma once
#include <cstdint>

#include "core/algebra/value_range.h"

namespace mpmml {

/// Scans elements side by side, whose semiring has this zero. That of integers is the least or the greatest that there is.
Range scan_run(const int32_t* data, int64_t count, int32_t zero);
Range scan_run(const float* data, int64_t count, float zero);

}  // namespace mpmml
