// Representations of elements in a kernel, one struct for each. An arithmetic encodes elements into operands,
// accumulates acc ⊕ (a ⊗ b), and finishes an accumulator into an element. `paths` is the set of its ArithmeticKinds,
// and for_operands() returns the arithmetic for a product. range.h decides which kinds are exact for a product. Each
// arithmetic states for which ⊕ and ⊗ it is valid: none assumes that ⊗ is a sum.
//
// accumulate() is a template so that the CPU's micro-kernels can use it on vectors.
#pragma once
#include <cmath>

#include "core/algebra/range_path.h"
#include "core/algebra/semiring.h"
#include "core/algebra/value_range.h"

namespace mpmml {

/// Number of k-steps in one operand of an arithmetic.
template <class Arithmetic, class = void>
constexpr int steps_per_operand = 1;
template <class Arithmetic>
constexpr int steps_per_operand<Arithmetic, std::void_t<decltype(Arithmetic::kStepsPerOperand)>> =
    Arithmetic::kStepsPerOperand;

/// Encoding of zero in NativeArithmetic, and threshold of the accumulators that are zero. Two cases share the struct,
/// so that one compiled kernel serves both:
///  - direct: the operands have no zero; zero represents itself and appears only as padding;
///  - translated: zero is represented by EncodedZero::value.
template <class Element>
struct NarrowEncoding {
  Element zero;
  Element threshold;
};

/// Sums in the element type itself. Valid if no sum of finite operands wraps, and under the wrapping policy if the
/// operands have no zero.
template <class S>
struct NativeArithmetic {
  static_assert(is_integer_sum<S>);
  using Semiring = S;
  using Element = typename S::Element;
  using Operand = Element;
  using Accumulator = Element;

  NarrowEncoding<Element> encoding;

  static constexpr ArithmeticSet paths{ArithmeticKind::kDirect, ArithmeticKind::kTranslated};

  static constexpr NativeArithmetic for_operands(ArithmeticKind path, const ValueRange& = {}, const ValueRange& = {}) {
    return path == ArithmeticKind::kDirect ? NativeArithmetic{{S::zero, S::zero}}
                                           : NativeArithmetic{{EncodedZero<S>::value, translated_threshold()}};
  }

  MPMML_HOST_DEVICE Operand encode(Element x) const { return x == S::zero ? encoding.zero : x; }
  MPMML_HOST_DEVICE Accumulator initial() const { return encoding.threshold; }

  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V a, V b) {
    return S::combine(acc, S::extend(a, b));
  }

  /// Returns the element acc ⊕ c0. Never overflows: `overflowed` is not modified.
  MPMML_HOST_DEVICE Element finish(Accumulator acc, Element c0, bool& /*overflowed*/) const {
    const bool is_zero = S::combine(acc, encoding.threshold) == encoding.threshold;
    return S::combine(is_zero ? S::zero : acc, c0);
  }

 private:
  // Sum of zero's encoding and the finite value whose sum is nearest to the finite sums. Every sum of two finite values
  // is strictly on the other side.
  static constexpr Element translated_threshold() {
    using Zero = EncodedZero<S>;
    constexpr bool below = S::maximizes;
    constexpr int64_t nearest = int64_t{Zero::value} + (below ? Zero::limit : -Zero::limit);
    static_assert(below ? nearest < -2 * int64_t{Zero::limit} : nearest > 2 * int64_t{Zero::limit},
                  "a sum with zero must not reach the sums of finite values");
    static_assert(2 * int64_t{Zero::value} >= kLowest<Element> && 2 * int64_t{Zero::value} <= kHighest<Element>,
                  "zero ⊗ zero must not wrap");
    return static_cast<Element>(nearest);
  }
};

/// Sums of unsigned 16-bit or 8-bit operands, from each of which an offset is subtracted. A vector holds more of them
/// than of int32. If the operands have no zero, the differences and their sums use all bits. If they have one, the
/// encoding of zero keeps sums with zero out of the range of the finite sums. In 16 bits (8 bits: 64 in place of 16384):
///   max-plus  zero 0, finite values 16384 to 32767, finite sums from 32768;
///   min-plus  finite values 0 to 16383, zero 32767, finite sums to 32766.
template <class S, class Word>
struct BiasedIntArithmetic {
  static_assert(is_integer_sum<S>);
  using Semiring = S;
  using Element = typename S::Element;
  using Operand = Word;
  using Accumulator = Word;

  Element offset_a, offset_b;  ///< a finite x is encoded as x − offset
  bool has_zero;

  static constexpr ArithmeticKind kWithoutZero = sizeof(Word) == 1 ? ArithmeticKind::kByte : ArithmeticKind::kHalf;
  static constexpr ArithmeticKind kWithZero =
      sizeof(Word) == 1 ? ArithmeticKind::kByteTranslated : ArithmeticKind::kHalfTranslated;
  static constexpr ArithmeticSet paths{kWithoutZero, kWithZero};
  static constexpr int kMost = static_cast<Word>(~Word{0});  ///< greatest sum
  static constexpr Operand kZero = S::maximizes ? 0 : kMost / 2;
  /// Neutral element of ⊕ on sums, and padding value of A (border_a()).
  static constexpr Accumulator kNeutral = S::maximizes ? 0 : kMost;

  /// Returns the arithmetic with offsets of 0.
  static constexpr BiasedIntArithmetic for_operands(ArithmeticKind path) { return {0, 0, path == kWithZero}; }
  static BiasedIntArithmetic for_operands(ArithmeticKind path, const ValueRange& a, const ValueRange& b) {
    const bool has_zero = path == kWithZero;
    const int64_t base = has_zero && S::maximizes ? kMost / 4 + 1 : 0;
    const auto offset = [&](const ValueRange& range) {
      return static_cast<Element>((range.has_finite() ? range.minimum : 0) - base);
    };
    return {offset(a), offset(b), has_zero};
  }

  MPMML_HOST_DEVICE static Operand encode(Element x, Element offset) {
    return x == S::zero ? kZero : static_cast<Operand>(wrapping_subtract(x, offset));
  }
  /// Encodes a vector of elements. The operands are the low bits of its elements.
  template <class V>
  MPMML_HOST_DEVICE static V encode_vector(V x, Element offset) {
    return x == S::zero ? Element{kZero} - V{} : x - offset;
  }
  MPMML_HOST_DEVICE Operand encode_a(Element x) const { return encode(x, offset_a); }
  MPMML_HOST_DEVICE Operand encode_b(Element x) const { return encode(x, offset_b); }
  MPMML_HOST_DEVICE static constexpr Operand border_a() { return kNeutral; }
  MPMML_HOST_DEVICE static constexpr Operand border_b() { return 0; }
  MPMML_HOST_DEVICE static constexpr Accumulator initial() { return kNeutral; }

  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V a, V b) {
    return S::combine(acc, a + b);
  }

  MPMML_HOST_DEVICE Element finish(Accumulator acc, Element c0, bool& /*overflowed*/) const {
    const bool is_zero = has_zero && (S::maximizes ? acc <= kMost / 2 : acc >= kMost / 2);
    const Element sum = wrapping_add(static_cast<Element>(acc), wrapping_add(offset_a, offset_b));
    return S::combine(is_zero ? S::zero : sum, c0);
  }
};

template <class S>
using Half = BiasedIntArithmetic<S, uint16_t>;
template <class S>
using Byte = BiasedIntArithmetic<S, uint8_t>;

/// True if an offset is subtracted from each operand.
template <class Arithmetic>
constexpr bool takes_offsets = false;
template <class S, class Word>
constexpr bool takes_offsets<BiasedIntArithmetic<S, Word>> = true;

/// Quantization levels of elements, between which distances are counted: integers themselves, and for floats the
/// numbers of their quantization steps (LineLevels).
template <class Element>
struct Levels {
  Levels() = default;
  Levels(const LineLevels& /*levels*/, double /*step*/) {}
  template <class S>
  MPMML_HOST_DEVICE static int32_t of(Element x) {
    return x;
  }
};
template <>
struct Levels<float> {
  double offset = 0, per_step = 1;

  Levels() = default;
  Levels(const LineLevels& levels, double step) : offset(levels.offset), per_step(1 / step) {}
  /// Returns the level of `x`. The quotient is an integer except for rounding.
  template <class S>
  MPMML_HOST_DEVICE int32_t of(float x) const {
    if (x == S::zero) return S::maximizes ? kLowest<int32_t> : kHighest<int32_t>;
    return static_cast<int32_t>(std::rint((double{x} - offset) * per_step));
  }
};

/// Distances of elements as exponents of numbers for tensor cores: see ExponentScale. A distance is measured from the
/// best element of a line (row of A or column of B), or of a chunk of a line. A kernel decodes its accumulators into
/// levels itself.
template <class S, ArithmeticKind kPath>
struct Exponents {
  static_assert(has_range<S>);
  using Semiring = S;
  using Element = typename S::Element;
  using Operand = uint16_t;  ///< the bits of a bfloat16
  using Accumulator = int32_t;
  /// The semiring of levels.
  using OnLevels = std::conditional_t<S::maximizes, MaxPlus<int32_t>, MinPlus<int32_t>>;

  Levels<Element> levels_a, levels_b;
  double offset = 0, step = 1;  ///< the sum of level x is offset + x · step
  /// True if outlier chunks of A, or of B, are left out.
  bool is_outlier_a = false, is_outlier_b = false;
  bool in_halves = false;  ///< whether offsets and sums fit halves of words

  static constexpr ArithmeticSet paths{kPath};
  static constexpr ExponentScale kScale = exponent_scale_of(kPath);
  static constexpr bool kByChunks = kPath == ArithmeticKind::kExponentBounded;
  /// Bias of the exponents of sums that offsets require.
  static constexpr int32_t kBias = kByChunks ? kMaxDistance : 0;

  static Exponents for_operands(ArithmeticKind, const ValueRange& a, const ValueRange& b) {
    const double step = common_step(a.levels, b.levels);
    Exponents exponents{{a.levels, step}, {b.levels, step}, a.levels.offset + b.levels.offset, step};
    if constexpr (kByChunks) {
      const bool is_b_narrow = fits_chunks(b, a) && outlier_share(b) <= outlier_share(a);
      const ValueRange& narrow = is_b_narrow ? b : a;
      (is_b_narrow ? exponents.is_outlier_b : exponents.is_outlier_a) = outlier_share(narrow) > 0;
      exponents.in_halves = fits_halves(narrow);
    }
    return exponents;
  }

  /// Returns the distance of `x` from the best element of its line. Neither of them may be zero.
  MPMML_HOST_DEVICE static uint32_t distance(int32_t best, int32_t x) {
    return S::maximizes ? static_cast<uint32_t>(best) - static_cast<uint32_t>(x)
                        : static_cast<uint32_t>(x) - static_cast<uint32_t>(best);
  }
  /// Returns 2^(top − scale · distance), or 0 for zero and for elements too far from the best to decide a result.
  MPMML_HOST_DEVICE static Operand encode(int32_t x, int32_t best, int top) {
    if (x == OnLevels::zero) return 0;
    const uint32_t away = distance(best, x);
    if (away > static_cast<uint32_t>((top - kMinExponent) / kScale.scale)) return 0;
    return static_cast<Operand>((top + kMaxExponent - kScale.scale * static_cast<int>(away)) << 7);
  }
  /// Returns the level for the exponent of a sum, with float's bias. `best` is the best of the row ⊗ the best of the
  /// column.
  MPMML_HOST_DEVICE Accumulator decode(int32_t exponent, int32_t best) const {
    if (exponent <= 0) return OnLevels::zero;
    constexpr uint32_t kTop = kScale.top_a + kScale.top_b + kMaxExponent + uint32_t{kBias}, kScaleBits = kScale.scale;
    const uint32_t away = (kTop - static_cast<uint32_t>(exponent) + kScaleBits - 1) / kScaleBits;
    return wrapping_add(best, static_cast<int32_t>(S::maximizes ? 0 - away : away));
  }
  /// Returns the level for an exponent in a half of a word: see decode().
  MPMML_HOST_DEVICE Accumulator decode_half(int32_t half, int32_t best) const {
    return decode(half > kNothingOfHalves ? 2 * (half - 2 * kMaxOffsetOfHalves) + kBias : 0, best);
  }
  MPMML_HOST_DEVICE Element finish(Accumulator acc, Element c0, bool& /*overflowed*/) const {
    if constexpr (std::is_same_v<Element, int32_t>) {
      return S::combine(acc, c0);
    } else {
      return S::combine(acc == OnLevels::zero ? S::zero : static_cast<Element>(offset + acc * step), c0);
    }
  }
};
template <class S>
using Exponent = Exponents<S, ArithmeticKind::kExponent>;
template <class S>
using ExponentBounded = Exponents<S, ArithmeticKind::kExponentBounded>;
template <class S>
using ExponentWide = Exponents<S, ArithmeticKind::kExponentWide>;

/// Base of the two 64-bit arithmetics. Zero is ±2^61, so that no sum of two operands wraps. An accumulator at or beyond
/// ±2^60 is zero.
template <class S>
struct WideEncoding {
  static_assert(is_integer_sum<S>);
  using Semiring = S;
  using Element = typename S::Element;
  using Operand = int64_t;
  using Accumulator = int64_t;

  static constexpr int64_t zero = (S::maximizes ? -1 : 1) * (int64_t{1} << 61);
  static constexpr int64_t threshold = zero / 2;

  MPMML_HOST_DEVICE static Operand encode(Element x) { return x == S::zero ? zero : int64_t{x}; }
  MPMML_HOST_DEVICE static Accumulator initial() { return zero; }
  MPMML_HOST_DEVICE static bool is_zero(Accumulator acc) { return S::combine(acc, threshold) == threshold; }
};

/// Exact 64-bit sums, for any operands. A result whose deciding sum is finite but outside the finite range of the
/// element type is clamped to that range, and reported.
template <class S>
struct Wide : WideEncoding<S> {
  using Base = WideEncoding<S>;
  using typename Base::Accumulator;
  using typename Base::Element;

  static constexpr ArithmeticSet paths{ArithmeticKind::kWide};
  static constexpr Wide for_operands(ArithmeticKind, const ValueRange& = {}, const ValueRange& = {}) { return {}; }

  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V a, V b) {
    return S::combine(acc, S::extend(a, b));
  }

  MPMML_HOST_DEVICE static Element finish(Accumulator acc, Element c0, bool& overflowed) {
    acc = S::combine(acc, Base::encode(c0));
    if (Base::is_zero(acc)) return S::zero;
    using Finite = FiniteRange<S>;
    if (acc >= Finite::least && acc <= Finite::most) return static_cast<Element>(acc);
    overflowed = true;
    return acc < Finite::least ? Finite::least : Finite::most;
  }
};

/// Finite sums modulo 2^32, with an absorbing zero: for the wrapping policy if NativeArithmetic can't represent the
/// operands' zero.
template <class S>
struct Wrapping : WideEncoding<S> {
  using Base = WideEncoding<S>;
  using typename Base::Accumulator;
  using typename Base::Element;

  static constexpr ArithmeticSet paths{ArithmeticKind::kWrapping};
  static constexpr Wrapping for_operands(ArithmeticKind, const ValueRange& = {}, const ValueRange& = {}) { return {}; }

  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V a, V b) {
    const V sum = a + b;
    const V beyond = V{} + Base::threshold;
    const V wrapped = (sum << 32) >> 32;
    return S::combine(acc, S::combine(sum, beyond) == beyond ? sum : wrapped);
  }

  MPMML_HOST_DEVICE static Element finish(Accumulator acc, Element c0, bool& /*overflowed*/) {
    acc = S::combine(acc, Base::encode(c0));
    return Base::is_zero(acc) ? S::zero : static_cast<Element>(acc);
  }
};

/// Known signs of the sums of a product of floats before its computation.
enum class SumSigns : uint8_t {
  kUnknown,  ///< nothing is known, or a sum may be NaN
  kMixed,    ///< no sum is NaN
  /// No sum is NaN or has the sign that ⊕ skips: all are at least +0 (max-plus), at most −0 (min-plus), or ε.
  kLeading,
  /// No sum is NaN or has the sign that ⊕ prefers: all are at most +0 (max-plus), at least −0 (min-plus).
  kTrailing,
};

/// True if the signs of sums help kernels: for float, because sums of one sign can be compared as integers.
template <class S>
constexpr bool has_sum_signs =
    S::extend_kind == OperatorKind::kSum && S::idempotent && std::is_same_v<typename S::Element, float>;

template <class S>
SumSigns signs_of_sums(const ValueRange& a, const ValueRange& b) {
  if (!a.has_finite() || !b.has_finite()) return SumSigns::kUnknown;
  // Infinities of opposite sign have no sum.
  const auto meets_zero = [](const ValueRange& range, const ValueRange& other) {
    return other.has_zero && (S::maximizes ? range.maximum : range.minimum) == order_key(-S::zero);
  };
  if (has_nan(a) || has_nan(b) || meets_zero(a, b) || meets_zero(b, a)) return SumSigns::kUnknown;
  // Rounding keeps order, so no sum is outside these bounds.
  const float least = from_order_key<float>(a.minimum) + from_order_key<float>(b.minimum),
              greatest = from_order_key<float>(a.maximum) + from_order_key<float>(b.maximum);
  if (S::maximizes ? order_key(least) >= 0 : order_key(greatest) < 0) return SumSigns::kLeading;
  if (S::maximizes ? greatest <= 0 : least >= 0) return SumSigns::kTrailing;
  return SumSigns::kMixed;
}

/// Elements without encoding: for semirings whose ⊗ can't overflow, and for any operands.
///
/// NaN: if ⊗ is a sum or a product, a candidate computed from NaN is NaN, and ⊕ skips it if ⊕ is a maximum or a
/// minimum. A minimum or maximum as ⊗ would drop the NaN, so NaN is encoded as zero, which never decides a result
/// either. Signed zeros: see has_no_negative_zero.
template <class S>
struct Plain {
  static_assert(!S::can_overflow);
  using Semiring = S;
  using Element = typename S::Element;
  using Operand = Element;
  using Accumulator = Element;

  SumSigns signs = SumSigns::kUnknown;

  static constexpr ArithmeticSet paths{ArithmeticKind::kDirect};
  static constexpr Plain for_operands(ArithmeticKind) { return {}; }
  static Plain for_operands(ArithmeticKind, const ValueRange& a, const ValueRange& b) {
    if constexpr (has_sum_signs<S>) return {signs_of_sums<S>(a, b)};
    return {};
  }

  /// Encodes one element, or a vector of floating-point elements.
  template <class V>
  MPMML_HOST_DEVICE static constexpr V encode(V x) {
    if constexpr (S::is_boolean) {
      return x != S::zero ? S::one : S::zero;
    } else if constexpr (kKeepsElements && std::is_floating_point_v<Element>) {
      return x == x ? x : S::zero - V{};
    } else {
      return x;
    }
  }
  MPMML_HOST_DEVICE static constexpr Accumulator initial() { return S::zero; }

  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V a, V b) {
    return S::accumulate(acc, a, b);
  }

  MPMML_HOST_DEVICE static Element finish(Accumulator acc, Element c0, bool& /*overflowed*/) {
    const Element result = S::combine(acc, encode(c0));
    if constexpr (has_no_negative_zero<S>) {
      return result + 0;
    } else {
      return result;
    }
  }

  /// True if a ⊗ b is a or b.
  static constexpr bool kKeepsElements =
      S::extend_kind == OperatorKind::kMinimum || S::extend_kind == OperatorKind::kMaximum;
};

/// The arithmetic of the definition: exact for any operands.
template <class S, bool can_overflow = S::can_overflow>
struct ByDefinition {
  using Arithmetic = Plain<S>;
};
template <class S>
struct ByDefinition<S, true> {
  using Arithmetic = Wide<S>;
};

/// Truth values as bits. An operand holds as many k-steps as a word has bits, and one operation on words computes all
/// of them. At the end ⊕ reduces the bits of an accumulator.
template <class S, class Word>
struct PackedBits {
  static_assert(S::is_boolean && S::zero == 0 && S::one == 1);
  using Semiring = S;
  using Element = typename S::Element;
  using Operand = Word;
  using Accumulator = Word;

  static constexpr int kStepsPerOperand = 8 * sizeof(Word);
  static constexpr ArithmeticSet paths{ArithmeticKind::kDirect};
  static constexpr PackedBits for_operands(ArithmeticKind) { return {}; }
  static constexpr PackedBits for_operands(ArithmeticKind, const ValueRange&, const ValueRange&) { return {}; }

  /// Returns the bit of an element.
  MPMML_HOST_DEVICE static constexpr Operand encode(Element x) { return x != S::zero; }
  MPMML_HOST_DEVICE static constexpr Accumulator initial() { return 0; }

  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V a, V b) {
    return S::accumulate(acc, a, b);
  }

  MPMML_HOST_DEVICE static Element finish(Accumulator acc, Element c0, bool& /*overflowed*/) {
    const Element result = S::combine_across(acc), before = c0 != S::zero;
    return S::combine(result, before);
  }
};

}  // namespace mpmml
