// The arithmetic that subtracts an offset from the elements of A and another from those of B, so that narrow sums are
// enough. The offsets are added again when a result is finished.
#pragma once
#include "core/algebra/arithmetic.h"

namespace mpmml::cpu {

/// The 16-bit and the 8-bit sums of core/algebra/arithmetic.h, on vectors.
template <class S, class Word>
struct OffsetSums {
  using Core = mpmml::OffsetSums<S, Word>;
  using Semiring = S;
  using Element = typename S::Element;
  using Operand = typename Core::Operand;
  using Accumulator = typename Core::Accumulator;

  bool has_zero = false;

  static constexpr PathSet paths = Core::paths;
  static constexpr RangePath kWithoutZero = Core::kWithoutZero;
  static constexpr RangePath kWithZero = Core::kWithZero;
  static constexpr OffsetSums for_operands(RangePath path) {
    OffsetSums sums;
    sums.has_zero = path == kWithZero;
    return sums;
  }

  template <class V>
  MPMML_HOST_DEVICE static V encode(V x, Element offset) {
    return x == S::zero ? Element{Core::kZero} - V{} : x - offset;
  }
  MPMML_HOST_DEVICE static constexpr Operand border_a() { return Core::border_a(); }
  MPMML_HOST_DEVICE static constexpr Operand border_b() { return Core::border_b(); }
  MPMML_HOST_DEVICE static constexpr Accumulator initial() { return Core::initial(); }

  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V a, V b) {
    return S::combine(acc, a + b);
  }

  MPMML_HOST_DEVICE Element finish(Accumulator acc, Element c0, bool& overflowed, Element offset_a,
                                   Element offset_b) const {
    return Core{offset_a, offset_b, has_zero}.finish(acc, c0, overflowed);
  }
};

template <class S>
using Half = OffsetSums<S, uint16_t>;
template <class S>
using Byte = OffsetSums<S, uint8_t>;

template <class Arithmetic>
constexpr bool takes_offsets = false;
template <class S, class Word>
constexpr bool takes_offsets<OffsetSums<S, Word>> = true;

}  // namespace mpmml::cpu
