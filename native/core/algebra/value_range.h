// The values in an operand as the arithmetics see them: their range, their order, and how they are encoded. Kernels see them
// too, so only headers whose functions GPUs have are included here.
#pragma once
#include <cmath>
#include <cstring>
#include <limits>

#include "core/algebra/range_path.h"
#include "core/algebra/semiring.h"

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

/// How a max-plus product is one of numbers: x is held as 2^(−scale · distance), where distance is how far it is from
/// its line's best element, and zero as 0. The exponent of a sum of fewer than 2^scale such products, divided by scale, is
/// the best of their distances (docs/tensor-cores.md has the proofs).
struct ExponentScale {
  int scale;
  int steps;            ///< that one sum may have
  int top_a, top_b;     ///< the exponents of distance 0; products have at most the sum of both
  int64_t most;         ///< the greatest spread of one operand without zero; the other may be anything
  int64_t max_of_both;  ///< the greatest sum of both spreads otherwise
};
/// The exponents of normal numbers, of bfloat16 and of float. The greatest is also the bias.
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
  // With an even sum of tops and bias, half an exponent tells the distance too: see offset_in_halves().
  return path == ArithmeticKind::kExponentBounded ? exponent_scale(6, 32, 61, 60) : exponent_scale(6, 32, 61, 61);
}

/// Whether the least and the greatest element decide how to compute: if sums can overflow, and for float, where their
/// signs decide how sums are compared.
template <class S>
constexpr bool has_range =
    S::extend_kind == OperatorKind::kSum && S::idempotent && sizeof(typename S::Element) == sizeof(int32_t);

/// Whether no result is −0: it becomes 0, because processors differ in which of the two a maximum returns. In a sum the sign
/// of zero follows from the elements.
template <class S>
constexpr bool has_no_negative_zero =
    S::idempotent && S::extend_kind != OperatorKind::kSum && std::is_floating_point_v<typename S::Element>;

/// The order of the elements that have ranges. An integer is its own key. The key of a float follows totalOrder
/// (IEEE 754-2019, §5.10): −0 comes before 0, and NaNs are beyond the infinities. A float's bits are sign and
/// magnitude; a key is in two's complement.
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

/// The steps of a chunk of ArithmeticKind::kExponentBounded.
constexpr int kChunkSteps = exponent_scale_of(ArithmeticKind::kExponentBounded).steps;

/// What is known of the lines of an operand, the rows of A or the columns of B, if they have been looked at.
struct LineLevels {
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
  int64_t spread = kUnknown;  ///< the greatest difference of two finite elements of a line, in steps
  bool has_zero = true;       ///< whether a line has the semiring's zero beside finite elements
  /// K is divided into chunks of kChunkSteps elements, the first from the first element on. This is the share of them that
  /// are rough: in some line they have zero, or spread by more than ArithmeticKind::kExponentBounded takes.
  double rough_share = 1;
  /// Of float: each finite element is offset + an integer · step, and an integer · granule, which is a power of two. The
  /// step is 0 if all elements are equal. Integers have steps of 1.
  double step = 1, offset = 0, granule = 1;
  bool has_negative_zero = false;  ///< whether −0 is among the elements

  constexpr bool is_known() const { return spread != kUnknown; }
};

/// The values among some elements, as every scan gives them: the finite minimum and maximum (minimum > maximum if there is no finite
/// value), whether the semiring's zero is among them, and whether a value is that isn't an element of the semiring. For float the
/// minimum and the maximum are order keys: those of the least and the greatest element other than zero.
struct Range {
  int64_t minimum = std::numeric_limits<int64_t>::max();
  int64_t maximum = std::numeric_limits<int64_t>::min();
  bool has_zero = false;
  bool has_invalid_element = false;  ///< a value that isn't an element: see Semiring::holds

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

/// The range of the values in one operand, with bounds of its lines.
struct ValueRange : Range {
  LineLevels levels{};

  /// Finite maximum minus finite minimum.
  int64_t spread() const { return has_finite() ? maximum - minimum : 0; }

  /// The same of integers within lines, and whether zero occurs there beside finite elements, as far as is known.
  int64_t spread_of_lines() const { return spread() < levels.spread ? spread() : levels.spread; }
  bool lines_have_zero() const { return has_zero && levels.has_zero; }

  /// Nothing is known then of the lines of both.
  void merge(const Range& other) {
    Range::merge(other);
    levels = {};
  }
};

/// Whether NaN may be among floats in this range: the keys of NaNs are beyond those of the infinities.
inline bool has_nan(const ValueRange& range) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return range.minimum < order_key(-kInfinity) || range.maximum > order_key(kInfinity);
}

/// The greatest number of which both are multiples; 0 if both are 0. They are multiples of a power of two that isn't much
/// smaller, so the remainders are exact.
inline double common_divisor(double x, double y) {
  while (y != 0) {
    const double rest = std::fmod(x, y);
    x = y;
    y = rest;
  }
  return x;
}

/// The step in which the distances of both operands are counted.
inline double common_step(const LineLevels& a, const LineLevels& b) {
  const double step = common_divisor(a.step, b.step);
  return step == 0 ? 1 : step;
}

/// The share of chunks that are rough, as far as is known.
inline double rough_share(const ValueRange& range) {
  const bool is_smooth =
      !range.has_zero && range.spread_of_lines() <= exponent_scale_of(ArithmeticKind::kExponentBounded).most;
  return is_smooth ? 0 : range.levels.rough_share;
}
/// More of them would take longer than the rest of the product: they are computed in integers.
constexpr double kMaxRoughShare = 0.125;

/// ArithmeticKind::kExponentBounded counts exponents up to kMaxDistance, which is that of the best sum that there could be; what is
/// 0 or less is zero. A chunk without a finite element is kMaxDistance away from its line's best, and one that is left out
/// because it is rough kRoughPenalty more, so that no exponent of a sum makes up for it. Both together fit int32.
constexpr int32_t kMaxDistance = kHighest<int32_t> - 255, kRoughPenalty = 255;
static_assert(int64_t{kMaxDistance} - kMaxDistance - (int64_t{kMaxDistance} + kRoughPenalty) >= kLowest<int32_t>);

/// Whether `narrow` has few levels within nearly all chunks, so that the other operand may hold anything, and distances
/// aren't too far.
inline bool fits_chunks(const ValueRange& narrow, const ValueRange& other) {
  constexpr ExponentScale kScale = exponent_scale_of(ArithmeticKind::kExponentBounded);
  return rough_share(narrow) <= kMaxRoughShare &&
         kScale.scale * (narrow.spread_of_lines() + other.spread_of_lines()) + (1 << 8) < kMaxDistance;
}

/// Sums and offsets of ArithmeticKind::kExponentBounded also fit halves of words, counted in pairs of exponents, if the narrow
/// operand is smooth and no line of it spreads by more than kMaxSpreadOfHalves. An offset is at most kMaxOffsetOfHalves,
/// and 0 if it is farther. Two of them and a sum's pairs are at most 2^16 − 1. What is not more than kNothingOfHalves is
/// zero, or less than the result (docs/tensor-cores.md has the proof).
constexpr int32_t kMaxOffsetOfHalves = 32704, kNothingOfHalves = kMaxOffsetOfHalves + 127;
constexpr int32_t kPairsOfLevel = exponent_scale_of(ArithmeticKind::kExponentBounded).scale / 2;
constexpr int32_t kTopOfBounded = exponent_scale_of(ArithmeticKind::kExponentBounded).top_a +
                                  exponent_scale_of(ArithmeticKind::kExponentBounded).top_b + kMaxExponent;
static_assert(kTopOfBounded % 2 == 0 && kPairsOfLevel * 2 == exponent_scale_of(ArithmeticKind::kExponentBounded).scale);
static_assert(2 * kMaxOffsetOfHalves + 127 < 1 << 16);
constexpr int64_t kMaxSpreadOfHalves =
    (2 * kMaxOffsetOfHalves + kTopOfBounded / 2 - (kNothingOfHalves + 1)) / kPairsOfLevel;
/// The offset of a chunk that is so far from the best of its line.
MPMML_HOST_DEVICE constexpr uint16_t offset_in_halves(uint32_t distance) {
  constexpr uint32_t kMost = kMaxOffsetOfHalves / kPairsOfLevel;
  return static_cast<uint16_t>(distance > kMost ? 0 : kMaxOffsetOfHalves - kPairsOfLevel * distance);
}
inline bool fits_halves(const ValueRange& narrow) {
  return rough_share(narrow) == 0 && narrow.spread_of_lines() <= kMaxSpreadOfHalves;
}

}  // namespace mpmml
