// Value-range analysis: which arithmetic computes a product exactly, from what occurs in its operands.
#pragma once
#include <algorithm>
#include <cstring>
#include <limits>

#include "core/problem.h"
#include "core/semiring.h"

namespace mpmml {

/// Greatest sum of the operands' spreads for RangePath::kHalf, and greatest spread of one for kHalfTranslated.
constexpr int64_t kHalfSpread = 65535;
constexpr int64_t kHalfTranslatedSpread = 16383;

/// Whether ranges say anything about S: of floating-point elements, whether float's sums may be compared as integers.
template <class S>
constexpr bool has_range =
    std::is_integral_v<typename S::Element> || (std::is_same_v<typename S::Element, float> && S::idempotent);

/// What orders the elements that have ranges: an integer is its own place; a float's is that of totalOrder (IEEE
/// 754-2019, §5.10), −0 before 0 and NaNs beyond the infinities. A float's bits are sign and magnitude, and a place two's
/// complement.
MPMML_HOST_DEVICE constexpr int32_t place_of(int32_t x) { return x; }
MPMML_HOST_DEVICE int32_t place_of(float x) {
  int32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits ^ (bits >> 31 & 0x7fffffff);
}
inline float float_at(int64_t place) {
  const auto bits = static_cast<int32_t>(place) ^ (static_cast<int32_t>(place) >> 31 & 0x7fffffff);
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

/// What occurs in one operand: its finite minimum and maximum (minimum > maximum where nothing finite occurs), and
/// whether the semiring's zero does. Of float the places of the least and the greatest element beside zero.
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
