// Value-range analysis: which arithmetic computes a product exactly, from what occurs in its operands.
#pragma once
#include <algorithm>
#include <limits>

#include "core/problem.h"
#include "core/semiring.h"

namespace mpmml {

/// Greatest sum of the operands' spreads for RangePath::kHalf, and greatest spread of one for kHalfTranslated.
constexpr int64_t kHalfSpread = 65535;
constexpr int64_t kHalfTranslatedSpread = 16383;

/// What occurs in one operand: its finite minimum and maximum (minimum > maximum where nothing finite occurs), and
/// whether the semiring's zero does.
struct ValueRange {
  int64_t minimum = std::numeric_limits<int64_t>::max();
  int64_t maximum = std::numeric_limits<int64_t>::min();
  bool has_zero = false;

  bool has_finite() const { return minimum <= maximum; }

  /// Finite maximum less finite minimum.
  int64_t spread() const { return has_finite() ? maximum - minimum : 0; }

  void merge(const ValueRange& other) {
    minimum = std::min(minimum, other.minimum);
    maximum = std::max(maximum, other.maximum);
    has_zero = has_zero || other.has_zero;
  }
};

template <class S>
PathSet exact_integer_paths(const ValueRange& a, const ValueRange& b, OverflowPolicy overflow) {
  const bool wraps = overflow == OverflowPolicy::kWrap;
  const bool has_zero = a.has_zero || b.has_zero;
  const bool fits = !a.has_finite() || !b.has_finite() ||
                    (a.minimum + b.minimum >= S::finite_min && a.maximum + b.maximum <= S::finite_max);
  const auto within_limit = [](const ValueRange& range) {
    return !range.has_finite() ||
           (range.minimum >= -int64_t{S::encoded_limit} && range.maximum <= int64_t{S::encoded_limit});
  };
  PathSet paths{wraps ? RangePath::kWrapping : RangePath::kWide};
  if (has_zero) {
    if (within_limit(a) && within_limit(b)) paths.add(RangePath::kTranslated);
    if (fits && std::max(a.spread(), b.spread()) <= kHalfTranslatedSpread) paths.add(RangePath::kHalfTranslated);
  } else {
    if (fits || wraps) paths.add(RangePath::kDirect);
    if (fits && a.spread() + b.spread() <= kHalfSpread) paths.add(RangePath::kHalf);
  }
  return paths;
}

/// The paths on which the product of operands with these ranges is exact under `overflow`. Floating-point elements have
/// one, whatever their values.
template <class S>
PathSet exact_paths(const ValueRange& a, const ValueRange& b, OverflowPolicy overflow) {
  if constexpr (std::is_floating_point_v<typename S::Element>) {
    return {RangePath::kDirect};
  } else {
    return exact_integer_paths<S>(a, b, overflow);
  }
}

}  // namespace mpmml
