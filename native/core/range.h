// Value-range analysis: which arithmetic computes a product exactly, from what occurs in its operands.
#pragma once
#include <algorithm>
#include <limits>

#include "core/problem.h"
#include "core/semiring.h"

namespace mpmml {

/// What occurs in one operand: its finite minimum and maximum (minimum > maximum where nothing finite occurs), and
/// whether the semiring's zero does.
struct ValueRange {
  int64_t minimum = std::numeric_limits<int64_t>::max();
  int64_t maximum = std::numeric_limits<int64_t>::min();
  bool has_zero = false;

  bool has_finite() const { return minimum <= maximum; }

  void merge(const ValueRange& other) {
    minimum = std::min(minimum, other.minimum);
    maximum = std::max(maximum, other.maximum);
    has_zero = has_zero || other.has_zero;
  }
};

/// The cheapest path on which the product of operands with these ranges is exact under `overflow`.
template <class S>
RangePath choose_path(const ValueRange& a, const ValueRange& b, OverflowPolicy overflow) {
  const bool wraps = overflow == OverflowPolicy::kWrap;
  if (!a.has_zero && !b.has_zero) {
    const bool fits = !a.has_finite() || !b.has_finite() ||
                      (a.minimum + b.minimum >= S::finite_min && a.maximum + b.maximum <= S::finite_max);
    return fits || wraps ? RangePath::kDirect : RangePath::kWide;
  }
  const auto within_limit = [](const ValueRange& range) {
    return !range.has_finite() ||
           (range.minimum >= -int64_t{S::encoded_limit} && range.maximum <= int64_t{S::encoded_limit});
  };
  if (within_limit(a) && within_limit(b)) return RangePath::kTranslated;
  return wraps ? RangePath::kWrapping : RangePath::kWide;
}

}  // namespace mpmml
