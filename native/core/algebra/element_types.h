// Dispatch from the run-time identifier of an element type to the type.
#pragma once
#include <stdexcept>
#include <type_traits>

#include "core/algebra/semiring.h"
#include "generated/element_types.h"
#include "generated/semirings.h"

namespace mpmml {

/// Calls `body` with a value of the element type and returns its result.
template <class Body>
auto with_element(DataType dtype, Body&& body) {
#define MPMML_CASE(id, element) \
  if (dtype == DataType::id) return body(element{});
  MPMML_FOR_EACH_ELEMENT_TYPE(MPMML_CASE)
#undef MPMML_CASE
  throw std::logic_error("no such element type");
}

/// Element type of a storage type.
template <class Stored>
struct ElementOf;
#define MPMML_ELEMENT_OF(name, stored, id, element, storage)                                              \
  template <>                                                                                             \
  struct ElementOf<stored> {                                                                              \
    using Type = element;                                                                                 \
    static_assert(std::is_same_v<stored, element> || std::is_same_v<stored, NarrowType<element>>, #name); \
  };
MPMML_FOR_EACH_STORED_TYPE(MPMML_ELEMENT_OF)
#undef MPMML_ELEMENT_OF

}  // namespace mpmml
