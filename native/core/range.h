// Value-range analysis: the values in the operands decide which arithmetic computes a product exactly.
#pragma once
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/problem.h"
#include "core/semiring.h"

namespace mpmml {

/// Whether the arithmetics of integer sums are valid for S: ⊗ is + on int32, and ⊕ is a maximum or a minimum with zero
/// at one end of the order.
template <class S>
constexpr bool is_integer_sum = S::can_overflow && S::idempotent && std::is_same_v<typename S::Element, int32_t>;

/// How zero is encoded for sums in the element type. As long as every finite value is within ±limit, which is about
/// 2^30 / 3, a plain sum with the encoded zero can't wrap, and it can't be mistaken for a sum of finite values. Maxima
/// and minima aren't symmetric here, because 2^30 + 2^30 wraps but −2^30 − 2^30 doesn't.
template <class S>
struct EncodedZero {
  using Element = typename S::Element;
  static constexpr Element value = S::maximizes ? -(1 << 30) : (1 << 30) - 1;
  static constexpr Element limit = S::maximizes ? 357913941 : 357913940;
};

/// The greatest sum of both operands' spreads for RangePath::kByte, and the greatest spread of each for kByteTranslated.
constexpr int64_t kByteSpread = 255;
constexpr int64_t kByteTranslatedSpread = 63;
/// The same for kHalf and kHalfTranslated.
constexpr int64_t kHalfSpread = 65535;
constexpr int64_t kHalfTranslatedSpread = 16383;

/// How a max-plus product is one of numbers: x is held as 2^(−scale · distance), where distance is how far it is from
/// its line's best element, and zero as 0. The exponent of a sum of at most 2^(scale − 1) such products, divided by scale,
/// is the best of their distances (docs/tensor-cores.md has the proofs).
struct ExponentScale {
  int scale;
  int steps;             ///< that one sum may have
  int top_a, top_b;      ///< the exponents of distance 0; products have at most the sum of both
  int64_t most;          ///< the greatest spread of one operand without zero; the other may be anything
  int64_t most_of_both;  ///< the greatest sum of both spreads otherwise
};
/// Exponents of bfloat16 and float are normal from −126 to 127.
constexpr ExponentScale exponent_scale(int scale, int steps, int top_a, int top_b) {
  constexpr int kLeast = -126, kMost = 127;
  const int most = (top_a < top_b ? top_a : top_b) - kLeast;
  const bool fits = steps <= 1 << (scale - 1) && top_a + top_b + scale - 1 <= kMost;
  return fits ? ExponentScale{scale, steps, top_a, top_b, most / scale, (top_a + top_b - kLeast) / scale}
              : throw "a sum could leave the range of float";
}
constexpr ExponentScale kExponentScales[] = {exponent_scale(6, 32, 61, 61), exponent_scale(5, 16, 61, 62)};

/// Whether the sums of operands in these ranges can be computed by way of exponents.
constexpr bool fits_exponents(const ExponentScale& scale, int64_t spread_a, bool zero_a, int64_t spread_b,
                              bool zero_b) {
  return (!zero_a && spread_a <= scale.most) || (!zero_b && spread_b <= scale.most) ||
         (spread_a <= scale.most && spread_b <= scale.most && spread_a + spread_b <= scale.most_of_both);
}

/// Whether the least and the greatest element decide how to compute: if sums can overflow, and for float, where their
/// signs decide how sums are compared.
template <class S>
constexpr bool has_range =
    S::extend_kind == OperatorKind::kSum && S::idempotent && sizeof(typename S::Element) == sizeof(int32_t);

/// Whether something must be known about the elements before they are multiplied.
template <class S>
constexpr bool is_scanned = has_range<S> || S::restricts_elements;

/// The order of the elements that have ranges. An integer is its own place. The place of a float follows totalOrder
/// (IEEE 754-2019, §5.10): −0 comes before 0, and NaNs are beyond the infinities. A float's bits are sign and
/// magnitude; a place is in two's complement.
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

/// The values in one operand: its finite minimum and maximum (minimum > maximum if it has no finite value), whether it
/// contains the semiring's zero, and whether it contains a value that isn't an element of the semiring. For float the
/// minimum and the maximum are places: those of the least and the greatest element other than zero.
struct ValueRange {
  int64_t minimum = std::numeric_limits<int64_t>::max();
  int64_t maximum = std::numeric_limits<int64_t>::min();
  bool has_zero = false;
  bool has_outsider = false;  ///< a value that isn't an element: see Semiring::holds

  bool has_finite() const { return minimum <= maximum; }

  /// Finite maximum minus finite minimum.
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
  if (fits && a.has_finite() && b.has_finite()) {
    constexpr RangePath kPaths[] = {RangePath::kExponent, RangePath::kExponentWide};
    for (int index = 0; index < 2; ++index) {
      if (fits_exponents(kExponentScales[index], a.spread(), a.has_zero, b.spread(), b.has_zero)) {
        paths.add(kPaths[index]);
      }
    }
  }
  if (has_zero) {
    if (within_limit(a) && within_limit(b)) paths.add(RangePath::kTranslated);
    if (fits && std::max(a.spread(), b.spread()) <= kByteTranslatedSpread) paths.add(RangePath::kByteTranslated);
    if (fits && std::max(a.spread(), b.spread()) <= kHalfTranslatedSpread) paths.add(RangePath::kHalfTranslated);
  } else {
    if (fits || wraps) paths.add(RangePath::kDirect);
    if (fits && a.spread() + b.spread() <= kByteSpread) paths.add(RangePath::kByte);
    if (fits && a.spread() + b.spread() <= kHalfSpread) paths.add(RangePath::kHalf);
  }
  return paths;
}

/// The paths on which the product of operands with these ranges is exact under `overflow`. If nothing can overflow
/// there is only one, whatever the values.
template <class S>
PathSet exact_paths(const ValueRange& a, const ValueRange& b, OverflowPolicy overflow) {
  if constexpr (S::can_overflow) {
    return exact_integer_paths<S>(a, b, overflow);
  } else {
    return {RangePath::kDirect};
  }
}

/// The sets that exact_paths() can return.
template <class S>
std::vector<PathSet> possible_paths(OverflowPolicy overflow) {
  if constexpr (S::can_overflow) {
    // Small spreads near 0 and far from it, a larger one, values that can't be translated, and sums that leave the
    // type.
    constexpr int64_t kFar = 1000000000;
    const std::pair<int64_t, int64_t> samples[] = {{0, 1},
                                                   {kFar, kFar + 1},
                                                   {0, 2 * kByteSpread},
                                                   {kFar, kFar + 2 * kByteSpread},
                                                   {0, 2 * kHalfSpread},
                                                   {0, EncodedZero<S>::limit + 1},
                                                   {0, FiniteRange<S>::most}};
    std::vector<PathSet> sets;
    for (const bool has_zero : {false, true}) {
      for (const auto& [minimum, maximum] : samples) {
        ValueRange range;
        range.minimum = minimum;
        range.maximum = maximum;
        range.has_zero = has_zero;
        // Beside it one like it, and some with few levels.
        std::vector<ValueRange> others{range};
        for (const ExponentScale& scale : kExponentScales) {
          others.push_back({minimum, minimum + scale.most, false, false});
        }
        for (const ValueRange& other : others) {
          const PathSet paths = exact_paths<S>(range, other, overflow);
          if (std::find(sets.begin(), sets.end(), paths) == sets.end()) sets.push_back(paths);
        }
      }
    }
    return sets;
  } else {
    return {exact_paths<S>({}, {}, overflow)};
  }
}

}  // namespace mpmml
