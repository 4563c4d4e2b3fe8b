// What kernels know of tables over intervals (triangle.h).
#pragma once
#include <cstdint>

namespace mpmml {

/// The rows of a block of a triangle.
constexpr int64_t kTriangleBlock = 32;

}  // namespace mpmml
