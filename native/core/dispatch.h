// From the run-time name of a semiring and an element type to the struct.
#pragma once
#include <stdexcept>
#include <type_traits>

#include "core/problem.h"
#include "core/range.h"
#include "core/semiring.h"

namespace mpmml {

/// Calls `body` with a value of the semiring's struct.
template <class Body>
auto with_semiring(SemiringId semiring, DataType dtype, Body&& body) {
#define MPMML_CASE(id, struct_name, dtype_id, element) \
  if (semiring == SemiringId::id && dtype == DataType::dtype_id) return body(struct_name<element>{});
  MPMML_FOR_EACH_SEMIRING_TYPE(MPMML_CASE)
#undef MPMML_CASE
  throw std::logic_error("no struct for this semiring and element type");
}

/// The same where elements have a range (has_range), and nothing elsewhere.
template <class Body>
void with_ranged_semiring(SemiringId semiring, DataType dtype, Body&& body) {
  with_semiring(semiring, dtype, [&](auto value) {
    if constexpr (has_range<decltype(value)>) body(value);
  });
}

/// The same for what only integers have.
template <class Body>
auto with_integer_semiring(SemiringId semiring, DataType dtype, Body&& body) {
#define MPMML_CASE(id, struct_name, dtype_id, element)                                                  \
  if constexpr (std::is_integral_v<element>) {                                                          \
    if (semiring == SemiringId::id && dtype == DataType::dtype_id) return body(struct_name<element>{}); \
  }
  MPMML_FOR_EACH_SEMIRING_TYPE(MPMML_CASE)
#undef MPMML_CASE
  throw std::logic_error("no struct for this semiring and integer type");
}

constexpr bool has_semiring(SemiringId semiring, DataType dtype) {
#define MPMML_CASE(id, struct_name, dtype_id, element) \
  if (semiring == SemiringId::id && dtype == DataType::dtype_id) return true;
  MPMML_FOR_EACH_SEMIRING_TYPE(MPMML_CASE)
#undef MPMML_CASE
  return false;
}

/// Whether sums can overflow, and so paths follow from values: not with floating-point elements.
constexpr bool is_integral(DataType dtype) {
#define MPMML_CASE(id, struct_name, dtype_id, element) \
  if (dtype == DataType::dtype_id) return std::is_integral_v<element>;
  MPMML_FOR_EACH_SEMIRING_TYPE(MPMML_CASE)
#undef MPMML_CASE
  return false;
}

}  // namespace mpmml
