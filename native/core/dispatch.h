// From the run-time name of a semiring and an element type to the struct.
#pragma once
#include <stdexcept>

#include "core/problem.h"
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

}  // namespace mpmml
