// Registry row of a kernel variant: its operation, its parameters, and its limits.
//
// The generator writes the rows from native/variants/table.mjs. A backend derives its own row type, which adds the
// function that runs the kernel.
#pragma once
#include <string>
#include <vector>

#include "core/problem/problem.h"

namespace mpmml {

struct Parameter {
  const char* name;
  const char* value;  ///< value as written in the table
  bool is_number;
};

struct Variant {
  const char* name;
  const char* family;
  BackendKind backend;
  SemiringId semiring;
  DataType dtype;
  std::vector<Parameter> parameters;
  /// Arithmetics of the kernel.
  ArithmeticSet paths;
  /// True if the planner may choose the variant; other variants run only on request.
  bool automatic;
};

/// Returns the set of arithmetics of a kernel over these structs.
template <class... Arithmetic>
constexpr ArithmeticSet paths_of() {
  ArithmeticSet paths;
  for (int index = 0; index < kRangePaths; ++index) {
    const auto path = static_cast<ArithmeticKind>(index);
    if ((Arithmetic::paths.has(path) || ...)) paths.add(path);
  }
  return paths;
}

}  // namespace mpmml
