// Dispatch on the size of elements.
#pragma once
#include <cstdint>

namespace mpmml {

/// Calls `body` with an integer of this many bytes: 1, 2, 4 or 8.
template <class Body>
void with_size(int64_t bytes, Body&& body) {
  if (bytes == 1) return body(int8_t{});
  if (bytes == 2) return body(int16_t{});
  if (bytes == 4) return body(int32_t{});
  body(int64_t{});
}

}  // namespace mpmml
