// core/arithmetic.h's 64-bit sums, on vectors. Vectors of 64-bit integers have no maximum before AVX-512, but vectors of
// doubles do, and positive doubles are in the order of their bits. So elements are held with a bias that keeps every sum
// the pattern of a positive, normal number: a step is then an integer addition and a floating-point maximum, as many
// instructions as a step of 32-bit sums on half as many lanes. (Additions of doubles as well would take another half: on
// Zen 4 they share two pipes with the maxima.)
#pragma once
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "core/arithmetic.h"
#include "core/range.h"

namespace mpmml::cpu {

/// What the two 64-bit arithmetics share: an element is held as kBias + x, zero as kBias ∓ 2^60.
template <class S>
struct BiasedEncoding {
  static_assert(is_integer_sum<S>);
  using Semiring = S;
  using Element = typename S::Element;
  using Operand = int64_t;
  using Accumulator = int64_t;

  static constexpr int64_t kBias = int64_t{1} << 61;
  static constexpr Operand zero = kBias + (S::maximizes ? -1 : 1) * (int64_t{1} << 60);
  /// Between the sums with zero and those of finite values.
  static constexpr Accumulator threshold = 2 * kBias + (S::maximizes ? -1 : 1) * (int64_t{1} << 59);

  static constexpr Operand encode(Element x) { return x == S::zero ? zero : kBias + x; }
  /// As encode(), on vectors of elements that are converted to operands already.
  template <class V>
  MPMML_HOST_DEVICE static V encode_wide(V x) {
    return x == Operand{S::zero} ? zero - V{} : x + kBias;
  }
  static constexpr Accumulator initial() { return zero + kBias; }
  MPMML_HOST_DEVICE static bool is_zero(Accumulator acc) { return S::combine(acc, threshold) == threshold; }

  /// c0 as a sum, on vectors of elements that are converted to operands already.
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
    return S::combine(x, y);
#else
#if defined(__aarch64__)
    // The compiler makes no FMAX of a comparison and a choice: it would pass NaN on.
    if constexpr (sizeof(V) == sizeof(float64x2_t)) {
      return (V)(S::maximizes ? vmaxq_f64((float64x2_t)x, (float64x2_t)y) : vminq_f64((float64x2_t)x, (float64x2_t)y));
    }
#endif
    typedef double Doubles __attribute__((vector_size(sizeof(V))));
    return (V)S::combine((Doubles)x, (Doubles)y);
#endif
  }
};

/// Exact 64-bit sums, as core/arithmetic.h's.
template <class S>
struct Wide : BiasedEncoding<S> {
  using Core = mpmml::Wide<S>;
  using Base = BiasedEncoding<S>;
  using typename Base::Accumulator;
  using typename Base::Element;

  static constexpr PathSet paths = Core::paths;
  static constexpr Wide for_operands(RangePath) { return {}; }

  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V a, V b) {
    return Base::combine(acc, a + b);
  }

  /// Elements for sums, on vectors, in the low halves: as finish(). Bits are set in `beyond` where a sum overflowed.
  template <class V>
  MPMML_HOST_DEVICE static V settle(V sum, V& beyond) {
    typedef double Doubles __attribute__((vector_size(sizeof(V))));
    const Doubles low = (Doubles)(2 * Base::kBias + FiniteRange<S>::least - V{});
    const Doubles high = (Doubles)(2 * Base::kBias + FiniteRange<S>::most - V{});
    Doubles clamped = (Doubles)sum > low ? (Doubles)sum : low;
    clamped = clamped < high ? clamped : high;
    const V is_zero = Base::are_zero(sum);
    beyond |= ((V)clamped ^ sum) & ~is_zero;
    // Zero is clamped to the finite value beside it, and is_zero is −1 where it holds.
    static_assert(int64_t{S::zero} ==
                  (S::maximizes ? int64_t{FiniteRange<S>::least} - 1 : int64_t{FiniteRange<S>::most} + 1));
    return S::maximizes ? (V)clamped + is_zero : (V)clamped - is_zero;
  }

  MPMML_HOST_DEVICE static Element finish(Accumulator acc, Element c0, bool& overflowed) {
    return Core::finish(Base::is_zero(acc) ? Core::zero : acc - 2 * Base::kBias, c0, overflowed);
  }
};

/// Finite sums modulo 2^32, as core/arithmetic.h's.
template <class S>
struct Wrapping : BiasedEncoding<S> {
  using Core = mpmml::Wrapping<S>;
  using Base = BiasedEncoding<S>;
  using typename Base::Accumulator;
  using typename Base::Element;

  static constexpr PathSet paths = Core::paths;
  static constexpr Wrapping for_operands(RangePath) { return {}; }

  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V a, V b) {
    constexpr int64_t half = int64_t{1} << 31;
    const V sum = a + b;
    const V wrapped = ((sum + half) & (2 * half - 1)) + (2 * Base::kBias - half);
    return Base::combine(acc, Base::are_zero(sum) ? sum : wrapped);
  }

  /// Elements for sums, on vectors, in the low halves: as finish().
  template <class V>
  MPMML_HOST_DEVICE static V settle(V sum, V& /*beyond*/) {
    return Base::are_zero(sum) ? S::zero - V{} : sum;
  }

  MPMML_HOST_DEVICE static Element finish(Accumulator acc, Element c0, bool& overflowed) {
    return Core::finish(Base::is_zero(acc) ? Core::zero : acc - 2 * Base::kBias, c0, overflowed);
  }
};

}  // namespace mpmml::cpu
