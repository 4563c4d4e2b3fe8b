// Dispatch from the run-time identifiers of a semiring and an element type to the semiring's struct.
#pragma once
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/algebra/operation.h"
#include "core/algebra/range.h"
#include "core/algebra/semiring.h"

namespace mpmml {

/// Calls `body` with a value of the semiring's struct. Considers only structs for which Filter::holds<struct>.
template <class Filter, class Body>
auto with_semiring_that(SemiringId semiring, DataType dtype, Body&& body) {
#define MPMML_CASE(id, struct_name, dtype_id, element)                                                  \
  if constexpr (Filter::template holds<struct_name<element>>) {                                         \
    if (semiring == SemiringId::id && dtype == DataType::dtype_id) return body(struct_name<element>{}); \
  }
  MPMML_FOR_EACH_SEMIRING_TYPE(MPMML_CASE)
#undef MPMML_CASE
  throw std::logic_error("no struct for this semiring and element type here");
}

struct Any {
  template <class S>
  static constexpr bool holds = true;
};
struct CanOverflow {
  template <class S>
  static constexpr bool holds = S::can_overflow;
};
struct IsBoolean {
  template <class S>
  static constexpr bool holds = S::is_boolean;
};
struct IsIntegerSum {
  template <class S>
  static constexpr bool holds = is_integer_sum<S>;
};
/// Semirings whose elements may be stored narrow.
struct HasNarrow {
  template <class S>
  static constexpr bool holds = has_narrow<typename S::Element>;
};

template <class Filter = Any, class Body>
auto with_semiring(const Operation& operation, Body&& body) {
  return with_semiring_that<Filter>(operation.semiring, operation.dtype, std::forward<Body>(body));
}

/// Calls `body` with the operation's semiring if its elements must be scanned (is_scanned). Otherwise does nothing.
template <class Body>
void with_scanned_semiring(const Operation& operation, Body&& body) {
  with_semiring(operation, [&](auto value) {
    if constexpr (is_scanned<decltype(value)>) body(value);
  });
}

constexpr bool has_semiring(SemiringId semiring, DataType dtype) {
#define MPMML_CASE(id, struct_name, dtype_id, element) \
  if (semiring == SemiringId::id && dtype == DataType::dtype_id) return true;
  MPMML_FOR_EACH_SEMIRING_TYPE(MPMML_CASE)
#undef MPMML_CASE
  return false;
}

/// Returns whether sums can overflow, so that the exact arithmetics depend on the values.
inline bool can_overflow(const Operation& operation) {
  return with_semiring(operation, [](auto semiring) { return decltype(semiring)::can_overflow; });
}

/// Returns whether the elements must be scanned before they are multiplied.
inline bool must_scan(const Operation& operation) {
  return with_semiring(operation, [](auto semiring) { return is_scanned<decltype(semiring)>; });
}

/// Returns whether some values of the element type aren't elements of the semiring.
inline bool restricts_elements(const Operation& operation) {
  return with_semiring(operation, [](auto semiring) { return decltype(semiring)::restricts_elements; });
}

/// Returns whether x ⊕ x = x. Only then a single k decides a result.
inline bool is_idempotent(const Operation& operation) {
  return with_semiring(operation, [](auto semiring) { return decltype(semiring)::idempotent; });
}

/// Returns whether ⊕ adds floating-point numbers: sums are rounded, and NaN propagates.
inline bool adds_floats(const Operation& operation) {
  return with_semiring(operation, [](auto semiring) { return decltype(semiring)::adds_floats; });
}

/// Returns whether elements are truth values.
inline bool is_boolean(const Operation& operation) {
  return with_semiring(operation, [](auto semiring) { return decltype(semiring)::is_boolean; });
}

/// Returns the arithmetics that are exact for a product of operands with these ranges.
inline ArithmeticSet exact_arithmetics(const Operation& operation, const ValueRange& a, const ValueRange& b) {
  return with_semiring(operation,
                       [&](auto semiring) { return exact_arithmetics<decltype(semiring)>(a, b, operation.overflow); });
}

/// Returns the cost of a step relative to a step on single elements: one word operation computes many truth values.
inline double cost_of_step(const Operation& operation) { return is_boolean(operation) ? 1.0 / 32 : 1.0; }

}  // namespace mpmml
