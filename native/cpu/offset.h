// Arithmetics that hold what remains of the elements once an offset has been taken off each row of A and each column
// of B, so that narrow sums suffice. The offsets come back when a result is finished.
#pragma once
#include "core/arithmetic.h"

namespace mpmml::cpu {

/// Marks these arithmetics. They encode vectors of elements of one lane each, given the lanes' offsets.
struct Offset {};

/// core/arithmetic.h's 16-bit sums, on vectors. All lanes of an operand have the same offset.
template <class S>
struct Half : Offset {
  using Core = mpmml::Half<S>;
  using Semiring = S;
  using Element = typename S::Element;
  using Operand = typename Core::Operand;
  using Accumulator = typename Core::Accumulator;

  bool has_zero = false;

  static constexpr PathSet paths = Core::paths;
  static constexpr Half for_operands(RangePath path) {
    Half half;
    half.has_zero = path == RangePath::kHalfTranslated;
    return half;
  }

  template <class V>
  MPMML_HOST_DEVICE static V encode(V x, V offset) {
    return x == S::zero ? Element{Core::kZero} - V{} : x - offset;
  }
  MPMML_HOST_DEVICE static constexpr Operand border_a() { return Core::border_a(); }
  MPMML_HOST_DEVICE static constexpr Operand border_b() { return Core::border_b(); }
  MPMML_HOST_DEVICE static constexpr Accumulator initial() { return Core::initial(); }

  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V a, V b) {
    return S::combine(acc, a + b);
  }

  MPMML_HOST_DEVICE static bool loses(Accumulator, int64_t) { return false; }
  MPMML_HOST_DEVICE Element finish(Accumulator acc, Element c0, bool& overflowed, Element offset_a,
                                   Element offset_b) const {
    return Core{offset_a, offset_b, has_zero}.finish(acc, c0, overflowed);
  }
};

/// Exact 32-bit sums: each row of A is held relative to its best element, and each column of B (the greatest one of
/// max-plus, the least one of min-plus), so that sums only ever run away from the best, and stop at zero: a + (b ⊕
/// (zero − a)) is a ⊗ b, or zero where that would wrap, or where a or b is zero.
///
/// An accumulator that stayed zero stands for no finite sum, or for sums too far from the best to be told (then, and
/// only where the spans of row and column together reach that far, the result is lost and must be computed apart).
template <class S>
struct Shifted : Offset {
  using Semiring = S;
  using Element = typename S::Element;
  using Operand = Element;
  using Accumulator = Element;

  static constexpr PathSet paths{RangePath::kWide};
  static constexpr Shifted for_operands(RangePath) { return {}; }

  template <class V>
  MPMML_HOST_DEVICE static V encode(V x, V offset) {
    // As far as from offset as can be told; zero stays zero.
    const V farthest = S::zero + S::combine(offset, V{});
    return x == S::zero ? S::zero - V{} : S::combine(x, farthest) - offset;
  }
  MPMML_HOST_DEVICE static constexpr Operand border_a() { return S::border_a; }
  MPMML_HOST_DEVICE static constexpr Operand border_b() { return S::border_b; }
  MPMML_HOST_DEVICE static constexpr Accumulator initial() { return S::zero; }

  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V a, V b) {
    return S::combine(acc, S::extend(a, S::combine(b, S::zero - a)));
  }

  /// Whether a result is lost; `span` is the span of its row and its column together.
  MPMML_HOST_DEVICE static bool loses(Accumulator acc, int64_t span) {
    return acc == S::zero && span >= std::numeric_limits<Element>::max();
  }

  MPMML_HOST_DEVICE static Element finish(Accumulator acc, Element c0, bool& overflowed, Element offset_a,
                                          Element offset_b) {
    const int64_t sum = int64_t{acc} + offset_a + offset_b;
    return Wide<S>::finish(acc == S::zero ? Wide<S>::zero : sum, c0, overflowed);
  }
};

}  // namespace mpmml::cpu
