// The semirings: one struct for each pair of semiring and element type, used by every kernel on both backends.
//
// A struct gives ⊕ (combine), ⊗ (extend), their neutral elements zero and one, and the two elements that fill the
// border of a tile that reaches past K: border_a ⊗ border_b is zero, so a border step changes no result. `idempotent`
// says whether x ⊕ x = x, so that a step may be done twice; `maximizes`, whether ⊕ is a maximum, and else a minimum.
//
// Over integers zero is one of the values of the element type; all the other values are finite. Inside a kernel zero is
// held as encoded_zero, so that a plain sum can't wrap and can be told from a sum of finite values (see arithmetic.h):
// that is exact as long as every finite value lies within ±encoded_limit.
//
// Over floating-point numbers (IEEE 754) the zero of max-plus and min-plus is an infinity. A sum is rounded once, and one
// that is NaN (an operand is NaN, or −∞ + ∞) is no candidate: ⊕ passes over it, as maximumNumber and minimumNumber of
// IEEE 754-2019 do. So zero absorbs every value, infinities among them, and results are the same in any order of k.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#if defined(__CUDACC__)
#define MPMML_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define MPMML_HOST_DEVICE inline __attribute__((always_inline))
#endif

namespace mpmml {

/// x + y modulo 2^bits, for integers and for the CPU's vectors of integers. Host code is compiled with -fwrapv;
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

/// The greater (the lesser) of the number x and of y, which is passed over where it is NaN. GPUs have an instruction for
/// that, of float alone; elsewhere the operands stand in the order in which x86's MAXPS and MINPS take them.
template <class V>
MPMML_HOST_DEVICE V maximum_number(V x, V y) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<V, float>) return fmaxf(x, y);
#endif
  return y > x ? y : x;
}

template <class V>
MPMML_HOST_DEVICE V minimum_number(V x, V y) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<V, float>) return fminf(x, y);
#endif
  return y < x ? y : x;
}

/// ⊕ = max, ⊗ = + on floating-point numbers, zero = −∞.
template <class T>
struct MaxPlus {
  static_assert(std::is_floating_point_v<T>);
  using Element = T;
  static constexpr bool idempotent = true;
  static constexpr bool maximizes = true;
  static constexpr Element zero = -std::numeric_limits<Element>::infinity();
  static constexpr Element one = 0;
  static constexpr Element border_a = zero;
  static constexpr Element border_b = one;

  /// y may be NaN; x, an accumulator, never is.
  template <class V>
  MPMML_HOST_DEVICE static V combine(V x, V y) {
    return maximum_number(x, y);
  }
  template <class V>
  MPMML_HOST_DEVICE static V extend(V x, V y) {
    return x + y;
  }
  /// acc ⊕ (x ⊗ y).
  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V x, V y) {
    return combine(acc, extend(x, y));
  }
};

/// ⊕ = max, ⊗ = +, zero = ε = −∞, held as −2^31.
template <>
struct MaxPlus<int32_t> {
  using Element = int32_t;
  static constexpr bool idempotent = true;
  static constexpr bool maximizes = true;
  static constexpr Element zero = std::numeric_limits<Element>::min();
  static constexpr Element one = 0;
  static constexpr Element border_a = zero;
  static constexpr Element border_b = one;
  static constexpr Element finite_min = zero + 1;
  static constexpr Element finite_max = std::numeric_limits<Element>::max();
  static constexpr Element encoded_zero = -(1 << 30);
  static constexpr Element encoded_limit = 357913941;  // floor(2^30 / 3)

  template <class V>
  MPMML_HOST_DEVICE static V combine(V x, V y) {
    return x > y ? x : y;
  }
  template <class V>
  MPMML_HOST_DEVICE static V extend(V x, V y) {
    return wrapping_add(x, y);
  }
};

/// ⊕ = min, ⊗ = + on floating-point numbers, zero = +∞.
template <class T>
struct MinPlus {
  static_assert(std::is_floating_point_v<T>);
  using Element = T;
  static constexpr bool idempotent = true;
  static constexpr bool maximizes = false;
  static constexpr Element zero = std::numeric_limits<Element>::infinity();
  static constexpr Element one = 0;
  static constexpr Element border_a = zero;
  static constexpr Element border_b = one;

  /// As MaxPlus::combine.
  template <class V>
  MPMML_HOST_DEVICE static V combine(V x, V y) {
    return minimum_number(x, y);
  }
  template <class V>
  MPMML_HOST_DEVICE static V extend(V x, V y) {
    return x + y;
  }
  /// acc ⊕ (x ⊗ y).
  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V x, V y) {
    return combine(acc, extend(x, y));
  }
};

/// ⊕ = min, ⊗ = +, zero = +∞, held as 2^31 − 1. Not a negated max-plus: the finite range is another one, and so
/// are encoded_zero and encoded_limit, because 2^30 + 2^30 wraps where −2^30 − 2^30 doesn't.
template <>
struct MinPlus<int32_t> {
  using Element = int32_t;
  static constexpr bool idempotent = true;
  static constexpr bool maximizes = false;
  static constexpr Element zero = std::numeric_limits<Element>::max();
  static constexpr Element one = 0;
  static constexpr Element border_a = zero;
  static constexpr Element border_b = one;
  static constexpr Element finite_min = std::numeric_limits<Element>::min();
  static constexpr Element finite_max = zero - 1;
  static constexpr Element encoded_zero = (1 << 30) - 1;
  static constexpr Element encoded_limit = 357913940;

  template <class V>
  MPMML_HOST_DEVICE static V combine(V x, V y) {
    return x < y ? x : y;
  }
  template <class V>
  MPMML_HOST_DEVICE static V extend(V x, V y) {
    return wrapping_add(x, y);
  }
};

/// The linear algebra everyone knows: ⊕ = +, ⊗ = ×, zero = 0, one = 1, on floating-point numbers with IEEE 754's rules
/// (NaN and infinities propagate).
template <class T>
struct PlusTimes {
  static_assert(std::is_floating_point_v<T>);
  using Element = T;
  static constexpr bool idempotent = false;
  static constexpr Element zero = 0;
  static constexpr Element one = 1;
  static constexpr Element border_a = zero;
  static constexpr Element border_b = one;

  template <class V>
  MPMML_HOST_DEVICE static V combine(V x, V y) {
    return x + y;
  }
  template <class V>
  MPMML_HOST_DEVICE static V extend(V x, V y) {
    return x * y;
  }
  /// One expression, so that every compiler may contract it to a fused multiply-add.
  template <class V>
  MPMML_HOST_DEVICE static V accumulate(V acc, V x, V y) {
    return acc + x * y;
  }
};

/// What stands in memory for an element (Storage), as the element.
template <class S>
MPMML_HOST_DEVICE typename S::Element widened(typename S::Element stored) {
  return stored;
}
template <class S>
MPMML_HOST_DEVICE typename S::Element widened(int16_t stored) {
  constexpr int16_t zero = S::maximizes ? std::numeric_limits<int16_t>::min() : std::numeric_limits<int16_t>::max();
  return stored == zero ? S::zero : stored;
}

}  // namespace mpmml
