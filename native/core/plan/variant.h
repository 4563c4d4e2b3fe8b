// The registry row of a kernel variant: what it computes, how, and whether it can run a given product.
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
  const char* value;  ///< as in the table
  bool is_number;
};

struct Variant {
  const char* name;
  const char* family;
  BackendKind backend;
  SemiringId semiring;
  DataType dtype;
  std::vector<Parameter> parameters;
  /// The range paths that the kernel can compute.
  ArithmeticSet paths;
  /// Whether the planner may choose the variant by itself; the others run only by name.
  bool automatic;
};

/// The range paths that a kernel over these arithmetics can compute.
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
