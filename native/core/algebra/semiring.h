// The semirings: one struct for each pair of semiring and element type, used by every kernel on both backends.
//
// A semiring consists of two operators, ⊕ (combine) and ⊗ (extend). Each operator is a struct with a kind, which code
// can test. Their identities are the semiring's zero and one. border_a ⊗ border_b is zero. These two padding values
// fill a tile beyond K, so that a step on padding changes no result.
//
// An operator that can be ⊕ declares whether it is idempotent: x ⊕ x = x. An operator of truth values also reduces many
// of them at once: the bits of words (across), or a count (of_count).
//
// Over int32 the sums of max-plus and min-plus can leave the type. In these semirings zero is one of the values of the
// type, and all other values are finite (FiniteRange). The arithmetics of arithmetic.h are still exact there. The other
// semirings need no encoding of elements.
//
// Over floating-point numbers (IEEE 754) ⊕ = max and ⊕ = min skip a candidate a ⊗ b that is NaN, as maximumNumber and
// minimumNumber of IEEE 754-2019 do. So zero absorbs every value, infinities included, and results are the same in any
// order of k.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/host_device.h"

namespace mpmml {

/// The kind of an operator ⊕ or ⊗.
enum class OperatorKind : uint8_t { kMaximum, kMinimum, kSum, kProduct, kOr, kXor, kAnd };
constexpr const char* kOperatorNames[] = {"maximum", "minimum", "sum", "product", "or", "xor", "and"};

/// Returns x + y modulo 2^bits, for integers and for the CPU's vectors of integers. Host code is compiled with -fwrapv;
/// device code has no such option.
template <class V>
MPMML_HOST_DEVICE V wrapping_add(V x, V y) {
#if defined(__CUDA_ARCH__)
  using U = std::make_unsigned_t<V>;
  return static_cast<V>(static_cast<U>(x) + static_cast<U>(y));
#else
  return x + y;
#endif
}

template <class V>
MPMML_HOST_DEVICE V wrapping_subtract(V x, V y) {
#if defined(__CUDA_ARCH__)
  using U = std::make_unsigned_t<V>;
  return static_cast<V>(static_cast<U>(x) - static_cast<U>(y));
#else
  return x - y;
#endif
}

/// Least and greatest value of a type, infinities included.
template <class T>
constexpr T kLowest = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::min();
template <class T>
constexpr T kHighest = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();

/// The greater of x and y. For floating-point numbers y may be NaN and is then skipped; x must not be NaN. GPUs have an
/// instruction for this, but only for float. Otherwise the operands are in the order that x86's MAXPS and MINPS need.
template <class T>
struct Maximum {
  static constexpr OperatorKind kind = OperatorKind::kMaximum;
  static constexpr bool idempotent = true;
  static constexpr T identity = kLowest<T>;

  template <class V>
  MPMML_HOST_DEVICE static V apply(V x, V y) {
    if constexpr (std::is_floating_point_v<T>) {
#if defined(__CUDA_ARCH__)
      if constexpr (std::is_same_v<V, float>) return fmaxf(x, y);
#endif
      return y > x ? y : x;
    } else {
      return x > y ? x : y;
    }
  }
};

/// The lesser of x and y; NaN as for Maximum.
template <class T>
struct Minimum {
  static constexpr OperatorKind kind = OperatorKind::kMinimum;
  static constexpr bool idempotent = true;
  static constexpr T identity = kHighest<T>;

  template <class V>
  MPMML_HOST_DEVICE static V apply(V x, V y) {
    if constexpr (std::is_floating_point_v<T>) {
#if defined(__CUDA_ARCH__)
      if constexpr (std::is_same_v<V, float>) return fminf(x, y);
#endif
      return y < x ? y : x;
    } else {
      return x < y ? x : y;
    }
  }
};

/// The sum; for integers modulo 2^bits.
template <class T>
struct Sum {
  static constexpr OperatorKind kind = OperatorKind::kSum;
  static constexpr bool idempotent = false;
  static constexpr T identity = 0;

  template <class V>
  MPMML_HOST_DEVICE static V apply(V x, V y) {
    if constexpr (std::is_floating_point_v<T>) {
      return x + y;
    } else {
      return wrapping_add(x, y);
    }
  }
};

template <class T>
struct Product {
  static constexpr OperatorKind kind = OperatorKind::kProduct;
  static constexpr T identity = 1;

  template <class V>
  MPMML_HOST_DEVICE static V apply(V x, V y) {
    return x * y;
  }
};

/// Logical or of truth values, or of words of them.
template <class T>
struct Or {
  static constexpr OperatorKind kind = OperatorKind::kOr;
  static constexpr bool idempotent = true;
  static constexpr T identity = 0;

  template <class V>
  MPMML_HOST_DEVICE static V apply(V x, V y) {
    return x | y;
  }

  /// Reduces all bits of a word, or of each word of a vector.
  template <class V>
  MPMML_HOST_DEVICE static auto across(V word) {
    return word != 0;
  }
  /// Returns the operator's result, 0 or 1, for values of which `count` are true.
  MPMML_HOST_DEVICE static uint32_t of_count(uint32_t count) { return count < 1 ? count : 1; }
};

/// Parity of truth values, or of words of them: whether an odd number of them is true.
template <class T>
struct Xor {
  static constexpr OperatorKind kind = OperatorKind::kXor;
  static constexpr bool idempotent = false;
  static constexpr T identity = 0;

  template <class V>
  MPMML_HOST_DEVICE static V apply(V x, V y) {
    return x ^ y;
  }

  template <class V>
  MPMML_HOST_DEVICE static auto across(V word) {
    if constexpr (std::is_integral_v<V>) {
#if defined(__CUDA_ARCH__)
      static_assert(sizeof(V) == sizeof(uint32_t));
      return (__popc(word) & 1) != 0;
#else
      return __builtin_parityll(word) != 0;
#endif
    } else {
      // This case is for the CPU's vectors of 64-bit words.
      for (int half = 32; half > 0; half /= 2) word ^= word >> half;
      return (word & 1) != 0;
    }
  }
  MPMML_HOST_DEVICE static uint32_t of_count(uint32_t count) { return count & 1; }
};

/// Logical and of truth values, or of words of them.
template <class T>
struct And {
  static constexpr OperatorKind kind = OperatorKind::kAnd;
  static constexpr T identity = 1;

  template <class V>
  MPMML_HOST_DEVICE static V apply(V x, V y) {
    return x & y;
  }
};

/// The semiring of elements T with Combine as ⊕ and Extend as ⊗.
template <class T, class Combine, class Extend>
struct Semiring {
  using Element = T;
  static constexpr OperatorKind combine_kind = Combine::kind;
  static constexpr OperatorKind extend_kind = Extend::kind;
  /// True if x ⊕ x = x, so that one k decides a result, and repeating a step is harmless.
  static constexpr bool idempotent = Combine::idempotent;
  /// True if ⊕ adds floating-point numbers by the rules of IEEE 754. Then sums are rounded, so that the order of k
  /// matters, and NaN propagates, so that zero doesn't absorb every value.
  static constexpr bool adds_floats = combine_kind == OperatorKind::kSum && std::is_floating_point_v<T>;
  /// True if elements are truth values: any value but zero represents true.
  static constexpr bool is_boolean = extend_kind == OperatorKind::kAnd;
  /// True if ⊕ is a maximum. Meaningful only if ⊕ is a maximum or a minimum.
  static constexpr bool maximizes = combine_kind == OperatorKind::kMaximum;
  /// True if a ⊗ b may be an integer outside the range of T.
  static constexpr bool can_overflow = extend_kind == OperatorKind::kSum && std::is_integral_v<T>;

  static constexpr T zero = Combine::identity;
  static constexpr T one = Extend::identity;
  static constexpr T border_a = zero;
  static constexpr T border_b = one;

  template <class V>
  MPMML_HOST_DEVICE static V combine(V x, V y) {
    return Combine::apply(x, y);
  }
  template <class V>
  MPMML_HOST_DEVICE static V extend(V x, V y) {
    return Extend::apply(x, y);
  }
  /// Returns acc ⊕ (x ⊗ y).
  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V x, V y) {
    return combine(acc, extend(x, y));
  }
  /// Reduces the truth values in a word with ⊕: see Or::across().
  template <class V>
  MPMML_HOST_DEVICE static auto combine_across(V word) {
    return Combine::across(word);
  }
  MPMML_HOST_DEVICE static uint32_t combine_count(uint32_t count) { return Combine::of_count(count); }

  /// True if some values of T aren't elements. Then holds() tests a value.
  static constexpr bool restricts_elements = false;
  MPMML_HOST_DEVICE static constexpr bool holds(T) { return true; }
};

/// Longest paths. Over int32 zero = ε = −∞, represented by −2^31.
template <class T>
struct MaxPlus : Semiring<T, Maximum<T>, Sum<T>> {};

/// Shortest paths. Over int32 zero = +∞, represented by 2^31 − 1. It isn't max-plus negated, because the finite range
/// differs.
template <class T>
struct MinPlus : Semiring<T, Minimum<T>, Sum<T>> {};

/// Widest paths: the greatest possible smallest capacity.
template <class T>
struct MaxMin : Semiring<T, Maximum<T>, Minimum<T>> {};

/// Minimax paths: the smallest possible greatest cost.
template <class T>
struct MinMax : Semiring<T, Minimum<T>, Maximum<T>> {};

/// Most reliable paths: products of numbers from 0 up. A number below 0 isn't an element, because ⊗ with it would
/// reverse the order.
template <class T>
struct MaxTimes : Semiring<T, Maximum<T>, Product<T>> {
  static_assert(std::is_floating_point_v<T>);
  static constexpr T zero = 0;
  static constexpr T border_a = zero;
  static constexpr bool restricts_elements = true;
  MPMML_HOST_DEVICE static constexpr bool holds(T x) { return !(x < 0); }
};

/// Reachability. An element is true unless it is 0; results are 0 and 1.
template <class T>
struct OrAnd : Semiring<T, Or<T>, And<T>> {};

/// Linear algebra over the field of two elements: parities. Elements and results are as in or-and.
template <class T>
struct XorAnd : Semiring<T, Xor<T>, And<T>> {};

/// Ordinary linear algebra, with IEEE 754's rules: NaN and infinities propagate.
template <class T>
struct PlusTimes : Semiring<T, Sum<T>, Product<T>> {
  static_assert(std::is_floating_point_v<T>);

  /// One expression, so that every compiler may contract it into a fused multiply-add.
  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V x, V y) {
    return acc + x * y;
  }
};

/// Finite values of a semiring of integers: all but its zero, which is the least or the greatest value of the type.
template <class S>
struct FiniteRange {
  using Element = typename S::Element;
  static_assert(S::can_overflow && (S::zero == kLowest<Element> || S::zero == kHighest<Element>));
  static constexpr Element least = S::maximizes ? S::zero + 1 : kLowest<Element>;
  static constexpr Element most = S::maximizes ? kHighest<Element> : S::zero - 1;
};

/// Storage type of fewer bits for elements (Storage::kNarrow); void if none exists.
template <class Element>
struct StorageTypeOf {
  using Type = void;
};
template <>
struct StorageTypeOf<int32_t> {
  using Type = int16_t;
};
template <class Element>
using NarrowType = typename StorageTypeOf<Element>::Type;
template <class Element>
constexpr bool has_narrow = !std::is_void_v<NarrowType<Element>>;

/// Returns the semiring's zero in a storage type. In a narrow type it is the least value if the semiring's zero is the
/// least element, else the greatest.
template <class S, class Stored>
MPMML_HOST_DEVICE constexpr Stored stored_zero() {
  if constexpr (std::is_same_v<Stored, typename S::Element>) {
    return S::zero;
  } else {
    return S::maximizes ? kLowest<Stored> : kHighest<Stored>;
  }
}

/// Returns the element that a stored value (Storage) represents.
template <class S>
MPMML_HOST_DEVICE typename S::Element widened(typename S::Element stored) {
  return stored;
}
template <class S, class Stored, std::enable_if_t<std::is_same_v<Stored, NarrowType<typename S::Element>>, int> = 0>
MPMML_HOST_DEVICE typename S::Element widened(Stored stored) {
  return stored == stored_zero<S, Stored>() ? S::zero : stored;
}

}  // namespace mpmml
