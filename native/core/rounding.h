// Rounding of sizes, also for kernels.
#pragma once
#include <cstdint>

#include "core/host_device.h"

namespace mpmml {

MPMML_HOST_DEVICE constexpr int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }
MPMML_HOST_DEVICE constexpr int64_t round_up(int64_t x, int64_t multiple) { return ceil_div(x, multiple) * multiple; }

}  // namespace mpmml
