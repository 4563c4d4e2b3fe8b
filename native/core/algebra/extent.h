// The least and the greatest of neighbouring elements.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/algebra/value_range.h"

namespace mpmml {

/// Of some elements: the order keys of the least and the greatest that isn't the semiring's zero, and whether there are zeros.
struct Extent {
  int32_t least = kHighest<int32_t>, most = kLowest<int32_t>;
  bool has_zero = false;

  bool is_empty() const { return least > most; }
  void merge(const Extent& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
    has_zero = has_zero || other.has_zero;
  }
};

/// Of elements side by side. The zero of integers is the least or the greatest that there is.
Extent extent_of(const int32_t* data, int64_t count, int32_t zero);
Extent extent_of(const float* data, int64_t count, float zero);

}  // namespace mpmml
