// Value-range analysis: the operands' values decide which arithmetics compute a product exactly.
#pragma once
#include <algorithm>
#include <cmath>

#include "core/algebra/operation.h"
#include "core/algebra/value_range.h"

namespace mpmml {

/// Greatest sum of both operands' ranges (maximum − minimum) for ArithmeticKind::kByte, and greatest range of each
/// operand for kByteTranslated.
constexpr int64_t kByteRange = 255;
constexpr int64_t kByteTranslatedRange = 63;
/// Like kByteRange, but for kHalf and kHalfTranslated.
constexpr int64_t kHalfRange = 65535;
constexpr int64_t kHalfTranslatedRange = 16383;

/// Returns whether the sums of operands in these ranges can be computed as exponents.
constexpr bool fits_exponents(const ExponentScale& scale, int64_t range_a, bool zero_a, int64_t range_b, bool zero_b) {
  return (!zero_a && range_a <= scale.most) || (!zero_b && range_b <= scale.most) ||
         (range_a <= scale.most && range_b <= scale.most && range_a + range_b <= scale.max_of_both);
}

/// True if the elements must be scanned before they are multiplied.
template <class S>
constexpr bool is_scanned = has_range<S> || S::restricts_elements;

/// Returns whether all sums of floats in these ranges are exact (24 bits suffice), and no sum is −0.
inline bool sums_are_exact(const ValueRange& a, const ValueRange& b) {
  const auto most = [](const ValueRange& range) {
    return std::max(std::fabs(double{from_order_key<float>(range.minimum)}),
                    std::fabs(double{from_order_key<float>(range.maximum)}));
  };
  const double scale = std::min(a.levels.scale, b.levels.scale);
  return most(a) + most(b) <= scale * (1 << 24) && !(a.levels.has_negative_zero && b.levels.has_negative_zero);
}

/// Adds the exponent arithmetics that are exact for these operands. Operands are integers, or floats that are multiples
/// of a quantization step and have exact sums.
template <class S>
void add_exponent_paths(ArithmeticSet& paths, const ValueRange& a, const ValueRange& b) {
  if (!a.has_finite() || !b.has_finite()) return;
  int64_t range_a = a.range_of_lines(), range_b = b.range_of_lines();
  if constexpr (!S::can_overflow) {
    if (!a.levels.is_known() || !b.levels.is_known() || !sums_are_exact(a, b)) return;
    const double step = common_step(a.levels, b.levels);
    range_a = a.levels.range * static_cast<int64_t>(a.levels.step / step);
    range_b = b.levels.range * static_cast<int64_t>(b.levels.step / step);
  }
  for (const ArithmeticKind path : {ArithmeticKind::kExponent, ArithmeticKind::kExponentWide}) {
    if (fits_exponents(exponent_scale_of(path), range_a, a.lines_have_zero(), range_b, b.lines_have_zero())) {
      paths.add(path);
    }
  }
  if constexpr (S::can_overflow) {
    if (fits_chunks(a, b) || fits_chunks(b, a)) paths.add(ArithmeticKind::kExponentBounded);
  }
}

template <class S>
ArithmeticSet exact_integer_paths(const ValueRange& a, const ValueRange& b, OverflowPolicy overflow) {
  const bool wraps = overflow == OverflowPolicy::kWrap;
  const bool has_zero = a.has_zero || b.has_zero;
  const bool fits = !a.has_finite() || !b.has_finite() ||
                    (a.minimum + b.minimum >= FiniteRange<S>::least && a.maximum + b.maximum <= FiniteRange<S>::most);
  const auto within_limit = [](const ValueRange& range) {
    return !range.has_finite() ||
           (range.minimum >= -int64_t{EncodedZero<S>::limit} && range.maximum <= int64_t{EncodedZero<S>::limit});
  };
  ArithmeticSet paths{wraps ? ArithmeticKind::kWrapping : ArithmeticKind::kWide};
  if (fits) add_exponent_paths<S>(paths, a, b);
  if (has_zero) {
    if (within_limit(a) && within_limit(b)) paths.add(ArithmeticKind::kTranslated);
    if (fits && std::max(a.dynamic_range(), b.dynamic_range()) <= kByteTranslatedRange)
      paths.add(ArithmeticKind::kByteTranslated);
    if (fits && std::max(a.dynamic_range(), b.dynamic_range()) <= kHalfTranslatedRange)
      paths.add(ArithmeticKind::kHalfTranslated);
  } else {
    if (fits || wraps) paths.add(ArithmeticKind::kDirect);
    if (fits && a.dynamic_range() + b.dynamic_range() <= kByteRange) paths.add(ArithmeticKind::kByte);
    if (fits && a.dynamic_range() + b.dynamic_range() <= kHalfRange) paths.add(ArithmeticKind::kHalf);
  }
  return paths;
}

/// Returns the arithmetics that compute the product of operands with these ranges exactly under `overflow`.
template <class S>
ArithmeticSet exact_arithmetics(const ValueRange& a, const ValueRange& b, OverflowPolicy overflow) {
  if constexpr (S::can_overflow) {
    return exact_integer_paths<S>(a, b, overflow);
  } else {
    ArithmeticSet paths{ArithmeticKind::kDirect};
    if constexpr (has_range<S>) add_exponent_paths<S>(paths, a, b);
    return paths;
  }
}

}  // namespace mpmml
