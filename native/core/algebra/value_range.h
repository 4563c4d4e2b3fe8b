// Ranges of the values in operands, their order and their encodings, as arithmetics need them. Kernels include this
// header, so it includes only headers that device code can use.
#pragma once
#include <cmath>
#include <cstring>
#include <limits>

#include "core/algebra/range_path.h"
#include "core/algebra/semiring.h"

namespace mpmml {

/// True if the arithmetics of integer sums are valid for S: ⊗ is + on int32, and ⊕ is a maximum or a minimum with zero
/// at one end of the order.
template <class S>
constexpr bool is_integer_sum = S::can_overflow && S::idempotent && std::is_same_v<typename S::Element, int32_t>;

/// Encoding of zero for sums in the element type. Every finite value must be within ±limit, which is about 2^30 / 3.
/// Then a plain sum with the encoded zero can't wrap, and differs from every sum of finite values. Maxima and minima
/// aren't symmetric here, because 2^30 + 2^30 wraps but −2^30 − 2^30 doesn't.
template <class S>
struct EncodedZero {
  using Element = typename S::Element;
  static constexpr Element value = S::maximizes ? -(1 << 30) : (1 << 30) - 1;
  static constexpr Element limit = S::maximizes ? 357913941 : 357913940;
};

/// Parameters that turn a max-plus product into one of real numbers. An element x is represented by 2^(−scale ·
/// distance), where distance is its distance from the best element of its line, and zero by 0. The exponent of a sum of
/// fewer than 2^scale such products, divided by scale, is the best of their distances (proofs: docs/tensor-cores.md).
struct ExponentScale {
  int scale;
  int steps;            ///< maximum number of steps in one sum
  int top_a, top_b;     ///< exponents of distance 0; the exponent of a product is at most their sum
  int64_t most;         ///< greatest range of one operand without zero; the other operand is unrestricted
  int64_t max_of_both;  ///< greatest sum of both ranges otherwise
};
/// Range of the exponents of normal numbers, in bfloat16 and in float. The greatest is also the bias.
constexpr int kMinExponent = -126, kMaxExponent = 127;
constexpr ExponentScale exponent_scale(int scale, int steps, int top_a, int top_b) {
  const int most = (top_a < top_b ? top_a : top_b) - kMinExponent;
  const bool fits = steps < 1 << scale && top_a + top_b + scale - 1 <= kMaxExponent;
  return fits ? ExponentScale{scale, steps, top_a, top_b, most / scale, (top_a + top_b - kMinExponent) / scale}
              : throw "a sum could leave the range of float";
}
constexpr ArithmeticKind kExponentPaths[] = {ArithmeticKind::kExponent, ArithmeticKind::kExponentWide,
                                             ArithmeticKind::kExponentBounded};
constexpr ExponentScale exponent_scale_of(ArithmeticKind path) {
  if (path == ArithmeticKind::kExponentWide) return exponent_scale(5, 31, 61, 62);
  // With an even sum of tops and bias, half an exponent also determines the distance: see offset_in_halves().
  return path == ArithmeticKind::kExponentBounded ? exponent_scale(6, 32, 61, 60) : exponent_scale(6, 32, 61, 61);
}

/// True if the choice of the arithmetic depends on the least and the greatest element: if sums can overflow, and for
/// float, where their signs decide how sums are compared.
template <class S>
constexpr bool has_range =
    S::extend_kind == OperatorKind::kSum && S::idempotent && sizeof(typename S::Element) == sizeof(int32_t);

/// True if no result is −0: −0 becomes 0, because processors differ in which of the two a maximum returns. In a sum the
/// sign of zero follows from the elements.
template <class S>
constexpr bool has_no_negative_zero =
    S::idempotent && S::extend_kind != OperatorKind::kSum && std::is_floating_point_v<typename S::Element>;

/// Returns the order key of an element. An integer is its own key. The key of a float follows totalOrder (IEEE
/// 754-2019, §5.10): −0 comes before 0, and NaNs are beyond the infinities. A float's bits are sign and magnitude; a
/// key is in two's complement.
MPMML_HOST_DEVICE constexpr int32_t order_key(int32_t x) { return x; }
MPMML_HOST_DEVICE int32_t order_key(float x) {
  int32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits ^ (bits >> 31 & 0x7fffffff);
}
template <class Element>
MPMML_HOST_DEVICE Element from_order_key(int64_t key);
template <>
MPMML_HOST_DEVICE int32_t from_order_key(int64_t key) {
  return static_cast<int32_t>(key);
}
template <>
MPMML_HOST_DEVICE float from_order_key(int64_t key) {
  const auto bits = static_cast<int32_t>(key) ^ (static_cast<int32_t>(key) >> 31 & 0x7fffffff);
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

/// Number of k-steps in a chunk of ArithmeticKind::kExponentBounded.
constexpr int kChunkSteps = exponent_scale_of(ArithmeticKind::kExponentBounded).steps;

/// Known bounds of the lines of an operand (rows of A or columns of B), if they have been scanned.
struct LineLevels {
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
  int64_t range = kUnknown;  ///< greatest difference of two finite elements of a line, in quantization steps
  bool has_zero = true;      ///< whether a line has both the semiring's zero and finite elements
  /// K is divided into chunks of kChunkSteps elements, the first from the first element on. This is the fraction of
  /// outlier chunks: in some line they have zero, or a range above the limit of ArithmeticKind::kExponentBounded.
  double outlier_share = 1;
  /// Quantization of floats: each finite element is offset + an integer · step, and also a multiple of a scale, which
  /// is a power of two. The step is 0 if all elements are equal. Integers have steps of 1.
  double step = 1, offset = 0, scale = 1;
  bool has_negative_zero = false;  ///< whether −0 is among the elements

  constexpr bool is_known() const { return range != kUnknown; }
};

/// Result of a scan: the finite minimum and maximum (minimum > maximum without a finite value). Flags tell whether the
/// semiring's zero, or a value that isn't an element of the semiring, is among the values. For float the minimum and
/// the maximum are the order keys of the least and the greatest element other than zero.
struct Range {
  int64_t minimum = std::numeric_limits<int64_t>::max();
  int64_t maximum = std::numeric_limits<int64_t>::min();
  bool has_zero = false;
  bool has_invalid_element = false;  ///< whether a value isn't an element: see Semiring::holds

  MPMML_HOST_DEVICE bool has_finite() const { return minimum <= maximum; }
  MPMML_HOST_DEVICE void include(int64_t least, int64_t greatest) {
    minimum = least < minimum ? least : minimum;
    maximum = greatest > maximum ? greatest : maximum;
  }
  MPMML_HOST_DEVICE void merge(const Range& other) {
    include(other.minimum, other.maximum);
    has_zero = has_zero || other.has_zero;
    has_invalid_element = has_invalid_element || other.has_invalid_element;
  }
};

/// Range of the values in one operand, with bounds of its lines.
struct ValueRange : Range {
  LineLevels levels{};

  /// Returns the finite maximum minus the finite minimum.
  int64_t dynamic_range() const { return has_finite() ? maximum - minimum : 0; }

  /// Returns the known bound of the range within lines of integers.
  int64_t range_of_lines() const { return dynamic_range() < levels.range ? dynamic_range() : levels.range; }
  bool lines_have_zero() const { return has_zero && levels.has_zero; }

  /// Extends the range by another one. Bounds of lines are lost.
  void merge(const Range& other) {
    Range::merge(other);
    levels = {};
  }
};

/// Returns whether floats in this range may be NaN: the keys of NaNs are beyond the keys of the infinities.
inline bool has_nan(const ValueRange& range) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return range.minimum < order_key(-kInfinity) || range.maximum > order_key(kInfinity);
}

/// Returns the greatest common divisor of `x` and `y`, by Euclid's algorithm; 0 if both are 0. Both must be multiples
/// of a power of two that isn't much smaller, so that the remainders are exact.
inline double common_divisor(double x, double y) {
  while (y != 0) {
    const double rest = std::fmod(x, y);
    x = y;
    y = rest;
  }
  return x;
}

/// Returns the common quantization step of the distances of both operands.
inline double common_step(const LineLevels& a, const LineLevels& b) {
  const double step = common_divisor(a.step, b.step);
  return step == 0 ? 1 : step;
}

/// Returns the known bound of the fraction of outlier chunks.
inline double outlier_share(const ValueRange& range) {
  const bool is_smooth =
      !range.has_zero && range.range_of_lines() <= exponent_scale_of(ArithmeticKind::kExponentBounded).most;
  return is_smooth ? 0 : range.levels.outlier_share;
}
/// Greatest fraction of outlier chunks. They are computed in integers, and more of them would take longer than the rest
/// of the product.
constexpr double kMaxOutlierShare = 0.125;

/// Limits of ArithmeticKind::kExponentBounded. Exponents are at most kMaxDistance, the exponent of the best possible
/// sum; an exponent of 0 or less means zero. A chunk without a finite element has the distance kMaxDistance from its
/// line's best. The distance of an omitted outlier chunk is greater by kOutlierPenalty, so that no exponent of a sum
/// compensates for it. The sum of both fits int32.
constexpr int32_t kMaxDistance = kHighest<int32_t> - 255, kOutlierPenalty = 255;
static_assert(int64_t{kMaxDistance} - kMaxDistance - (int64_t{kMaxDistance} + kOutlierPenalty) >= kLowest<int32_t>);

/// Returns whether `narrow` has few quantization levels within nearly all chunks, so that the other operand is
/// unrestricted, and distances are within the limits.
inline bool fits_chunks(const ValueRange& narrow, const ValueRange& other) {
  constexpr ExponentScale kScale = exponent_scale_of(ArithmeticKind::kExponentBounded);
  return outlier_share(narrow) <= kMaxOutlierShare &&
         kScale.scale * (narrow.range_of_lines() + other.range_of_lines()) + (1 << 8) < kMaxDistance;
}

/// Limits of ArithmeticKind::kExponentBounded in halves of words, counted in pairs of exponents. Sums and offsets fit
/// if the narrow operand has no outlier chunks and no line of it has a range above kMaxRangeOfHalves. An offset is at
/// most kMaxOffsetOfHalves, and 0 for greater distances. Two offsets and a sum's pairs are at most 2^16 − 1. A total of
/// at most kNothingOfHalves is zero, or less than the result (proof: docs/tensor-cores.md).
constexpr int32_t kMaxOffsetOfHalves = 32704, kNothingOfHalves = kMaxOffsetOfHalves + 127;
constexpr int32_t kPairsOfLevel = exponent_scale_of(ArithmeticKind::kExponentBounded).scale / 2;
constexpr int32_t kTopOfBounded = exponent_scale_of(ArithmeticKind::kExponentBounded).top_a +
                                  exponent_scale_of(ArithmeticKind::kExponentBounded).top_b + kMaxExponent;
static_assert(kTopOfBounded % 2 == 0 && kPairsOfLevel * 2 == exponent_scale_of(ArithmeticKind::kExponentBounded).scale);
static_assert(2 * kMaxOffsetOfHalves + 127 < 1 << 16);
constexpr int64_t kMaxRangeOfHalves =
    (2 * kMaxOffsetOfHalves + kTopOfBounded / 2 - (kNothingOfHalves + 1)) / kPairsOfLevel;
/// Returns the offset of a chunk at this distance from the best of its line.
MPMML_HOST_DEVICE constexpr uint16_t offset_in_halves(uint32_t distance) {
  constexpr uint32_t kMost = kMaxOffsetOfHalves / kPairsOfLevel;
  return static_cast<uint16_t>(distance > kMost ? 0 : kMaxOffsetOfHalves - kPairsOfLevel * distance);
}
inline bool fits_halves(const ValueRange& narrow) {
  return outlier_share(narrow) == 0 && narrow.range_of_lines() <= kMaxRangeOfHalves;
}

}  // namespace mpmml
