// The 64-bit sums of core/algebra/arithmetic.h, on vectors. Before AVX-512 there is no maximum for vectors of 64-bit
// integers, and with it that takes Intel's processors twice as long as a maximum of doubles. Positive doubles are in
// the order of their bits. So elements are encoded with a bias that makes every sum the bits of a positive, normal
// number. A step is then an integer addition and a floating-point maximum: as many instructions as a step of 32-bit
// sums, on half as many lanes. (Adding doubles instead would take half as much time again, because on Zen 4 these
// additions share two pipes with the maxima.)
#pragma once
#include "core/algebra/arithmetic.h"
#include "core/algebra/range.h"
#include "cpu/intrinsics.h"

namespace mpmml::cpu {

/// Common base of the two 64-bit arithmetics: an element is encoded as kBias + x, and zero as kBias ∓ 2^60.
template <class S>
struct BiasedEncoding {
  static_assert(is_integer_sum<S>);
  using Semiring = S;
  using Element = typename S::Element;
  using Operand = int64_t;
  using Accumulator = int64_t;

  static constexpr int64_t kBias = int64_t{1} << 61;
  static constexpr Operand zero = kBias + (S::maximizes ? -1 : 1) * (int64_t{1} << 60);
  /// Threshold between the sums with zero and the sums of finite values.
  static constexpr Accumulator threshold = 2 * kBias + (S::maximizes ? -1 : 1) * (int64_t{1} << 59);

  static constexpr Operand encode(Element x) { return x == S::zero ? zero : kBias + x; }
  /// Encodes vectors of elements that are already converted to the operand type.
  template <class V>
  MPMML_HOST_DEVICE static V encode_wide(V x) {
    return x == Operand{S::zero} ? zero - V{} : x + kBias;
  }
  static constexpr Accumulator initial() { return zero + kBias; }
  MPMML_HOST_DEVICE static bool is_zero(Accumulator acc) { return S::combine(acc, threshold) == threshold; }

  /// c0 as a sum, for vectors of elements that are already converted to the operand type.
  template <class V>
  MPMML_HOST_DEVICE static V encode_sum(V c0) {
    return encode_wide(c0) + kBias;
  }
  template <class V>
  MPMML_HOST_DEVICE static V are_zero(V sum) {
    typedef double Doubles __attribute__((vector_size(sizeof(V))));
    const Doubles beyond = (Doubles)(threshold - V{});
    return (V)(S::maximizes ? (Doubles)sum <= beyond : (Doubles)sum >= beyond);
  }

  /// x ⊕ y on vectors of sums.
  template <class V>
  MPMML_HOST_DEVICE static V combine(V x, V y) {
#if defined(__AVX512F__)
    // GCC turns the comparison and the selection into two instructions, because it selects integers.
    if constexpr (sizeof(V) == sizeof(__m512d)) {
      constexpr __mmask8 kAll = 0xff;
      const auto a = (__m512d)x, b = (__m512d)y;
      return (V)(S::maximizes ? _mm512_maskz_max_pd(kAll, a, b) : _mm512_maskz_min_pd(kAll, a, b));
    }
#endif
#if defined(__aarch64__)
    // The compiler doesn't turn a comparison and a selection into FMAX, because FMAX would propagate NaN.
    if constexpr (sizeof(V) == sizeof(float64x2_t)) {
      return (V)(S::maximizes ? vmaxq_f64((float64x2_t)x, (float64x2_t)y) : vminq_f64((float64x2_t)x, (float64x2_t)y));
    }
#endif
    typedef double Doubles __attribute__((vector_size(sizeof(V))));
    return (V)S::combine((Doubles)x, (Doubles)y);
  }
};

/// Exact 64-bit sums, as in core/algebra/arithmetic.h.
template <class S>
struct Wide : BiasedEncoding<S> {
  using Core = mpmml::Wide<S>;
  using Base = BiasedEncoding<S>;
  using typename Base::Accumulator;
  using typename Base::Element;

  static constexpr ArithmeticSet paths = Core::paths;
  static constexpr Wide for_operands(ArithmeticKind) { return {}; }

  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V a, V b) {
    return Base::combine(acc, a + b);
  }

  /// The elements for vectors of sums, in the low halves, as finish() computes them. Sets bits in `beyond` if a sum
  /// overflowed.
  template <class V>
  MPMML_HOST_DEVICE static V normalize(V sum, V& beyond) {
    typedef double Doubles __attribute__((vector_size(sizeof(V))));
    const Doubles low = (Doubles)(2 * Base::kBias + FiniteRange<S>::least - V{});
    const Doubles high = (Doubles)(2 * Base::kBias + FiniteRange<S>::most - V{});
    Doubles clamped = (Doubles)sum > low ? (Doubles)sum : low;
    clamped = clamped < high ? clamped : high;
    const V is_zero = Base::are_zero(sum);
    beyond |= ((V)clamped ^ sum) & ~is_zero;
    // Zero is clamped to the finite value next to it, and is_zero is −1 for those elements.
    static_assert(int64_t{S::zero} ==
                  (S::maximizes ? int64_t{FiniteRange<S>::least} - 1 : int64_t{FiniteRange<S>::most} + 1));
    return S::maximizes ? (V)clamped + is_zero : (V)clamped - is_zero;
  }

  MPMML_HOST_DEVICE static Element finish(Accumulator acc, Element c0, bool& overflowed) {
    return Core::finish(Base::is_zero(acc) ? Core::zero : acc - 2 * Base::kBias, c0, overflowed);
  }
};

/// Finite sums modulo 2^32, as in core/algebra/arithmetic.h.
template <class S>
struct Wrapping : BiasedEncoding<S> {
  using Core = mpmml::Wrapping<S>;
  using Base = BiasedEncoding<S>;
  using typename Base::Accumulator;
  using typename Base::Element;

  static constexpr ArithmeticSet paths = Core::paths;
  static constexpr Wrapping for_operands(ArithmeticKind) { return {}; }

  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V a, V b) {
    constexpr int64_t half = int64_t{1} << 31;
    const V sum = a + b;
    const V wrapped = ((sum + half) & (2 * half - 1)) + (2 * Base::kBias - half);
    return Base::combine(acc, Base::are_zero(sum) ? sum : wrapped);
  }

  /// The elements for vectors of sums, in the low halves, as finish() computes them.
  template <class V>
  MPMML_HOST_DEVICE static V normalize(V sum, V& /*beyond*/) {
    return Base::are_zero(sum) ? S::zero - V{} : sum;
  }

  MPMML_HOST_DEVICE static Element finish(Accumulator acc, Element c0, bool& overflowed) {
    return Core::finish(Base::is_zero(acc) ? Core::zero : acc - 2 * Base::kBias, c0, overflowed);
  }
};

/// Whether a candidate differs from the plain ⊗ of two operands.
template <class Arithmetic>
constexpr bool wraps_sums = false;
template <class S>
constexpr bool wraps_sums<Wrapping<S>> = true;

}  // namespace mpmml::cpu
