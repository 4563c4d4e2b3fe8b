// Value-range analysis: which arithmetic computes a product exactly, from what occurs in its operands.
#pragma once
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/problem.h"
#include "core/semiring.h"

namespace mpmml {

/// Whether S is what the arithmetics of integer sums are true for: ⊗ = + on int32, and ⊕ an order of which zero is an end.
template <class S>
constexpr bool is_integer_sum = S::can_overflow && S::idempotent && std::is_same_v<typename S::Element, int32_t>;

/// How zero is held in sums of the element type: a plain sum with it can't wrap, and can be told from a sum of finite
/// values, as long as every finite value lies within ±limit = 2^30 / 3. Not symmetric: 2^30 + 2^30 wraps where
/// −2^30 − 2^30 doesn't.
template <class S>
struct EncodedZero {
  using Element = typename S::Element;
  static constexpr Element value = S::maximizes ? -(1 << 30) : (1 << 30) - 1;
  static constexpr Element limit = S::maximizes ? 357913941 : 357913940;
};

/// Greatest sum of the operands' spreads for RangePath::kHalf, and greatest spread of one for kHalfTranslated.
constexpr int64_t kHalfSpread = 65535;
constexpr int64_t kHalfTranslatedSpread = 16383;

/// Whether the least and the greatest element say how to compute: where sums can overflow, and of float where their signs
/// decide how they are compared.
template <class S>
constexpr bool has_range =
    S::extend_kind == OperatorKind::kSum && S::idempotent && sizeof(typename S::Element) == sizeof(int32_t);

/// Whether anything has to be known of the elements before they are multiplied.
template <class S>
constexpr bool is_scanned = has_range<S> || S::restricts_elements;

/// What orders the elements that have ranges: an integer is its own place; a float's is that of totalOrder (IEEE
/// 754-2019, §5.10), −0 before 0 and NaNs beyond the infinities. A float's bits are sign and magnitude, and a place two's
/// complement.
MPMML_HOST_DEVICE constexpr int32_t place_of(int32_t x) { return x; }
MPMML_HOST_DEVICE int32_t place_of(float x) {
  int32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits ^ (bits >> 31 & 0x7fffffff);
}
template <class Element>
MPMML_HOST_DEVICE Element at_place(int64_t place);
template <>
MPMML_HOST_DEVICE int32_t at_place(int64_t place) {
  return static_cast<int32_t>(place);
}
template <>
MPMML_HOST_DEVICE float at_place(int64_t place) {
  const auto bits = static_cast<int32_t>(place) ^ (static_cast<int32_t>(place) >> 31 & 0x7fffffff);
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

/// What occurs in one operand: its finite minimum and maximum (minimum > maximum if nothing finite occurs), whether the
/// semiring's zero does, and whether a value does that is no element of it. Of float the places of the least and the
/// greatest element beside zero.
struct ValueRange {
  int64_t minimum = std::numeric_limits<int64_t>::max();
  int64_t maximum = std::numeric_limits<int64_t>::min();
  bool has_zero = false;
  bool has_outsider = false;  ///< Semiring::holds

  bool has_finite() const { return minimum <= maximum; }

  /// Finite maximum less finite minimum.
  int64_t spread() const { return has_finite() ? maximum - minimum : 0; }

  void merge(const ValueRange& other) {
    minimum = std::min(minimum, other.minimum);
    maximum = std::max(maximum, other.maximum);
    has_zero = has_zero || other.has_zero;
    has_outsider = has_outsider || other.has_outsider;
  }
};

template <class S>
PathSet exact_integer_paths(const ValueRange& a, const ValueRange& b, OverflowPolicy overflow) {
  const bool wraps = overflow == OverflowPolicy::kWrap;
  const bool has_zero = a.has_zero || b.has_zero;
  const bool fits = !a.has_finite() || !b.has_finite() ||
                    (a.minimum + b.minimum >= FiniteRange<S>::least && a.maximum + b.maximum <= FiniteRange<S>::most);
  const auto within_limit = [](const ValueRange& range) {
    return !range.has_finite() ||
           (range.minimum >= -int64_t{EncodedZero<S>::limit} && range.maximum <= int64_t{EncodedZero<S>::limit});
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

/// The paths on which the product of operands with these ranges is exact under `overflow`. Where nothing can overflow
/// there is one, whatever the values.
template <class S>
PathSet exact_paths(const ValueRange& a, const ValueRange& b, OverflowPolicy overflow) {
  if constexpr (S::can_overflow) {
    return exact_integer_paths<S>(a, b, overflow);
  } else {
    return {RangePath::kDirect};
  }
}

/// The sets that exact_paths() can give, each for operands that are alike.
template <class S>
std::vector<PathSet> possible_paths(OverflowPolicy overflow) {
  if constexpr (S::can_overflow) {
    // Narrow spreads near 0 and far from it, wider ones, values that can't be translated, and sums that leave the type.
    constexpr int64_t kFar = 1000000000;
    const std::pair<int64_t, int64_t> samples[] = {
        {0, 1}, {kFar, kFar + 1}, {0, 2 * kHalfSpread}, {0, EncodedZero<S>::limit + 1}, {0, FiniteRange<S>::most}};
    std::vector<PathSet> sets;
    for (const bool has_zero : {false, true}) {
      for (const auto& [minimum, maximum] : samples) {
        ValueRange range;
        range.minimum = minimum;
        range.maximum = maximum;
        range.has_zero = has_zero;
        const PathSet paths = exact_paths<S>(range, range, overflow);
        if (std::find(sets.begin(), sets.end(), paths) == sets.end()) sets.push_back(paths);
      }
    }
    return sets;
  } else {
    return {exact_paths<S>({}, {}, overflow)};
  }
}

}  // namespace mpmml
