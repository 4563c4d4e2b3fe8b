// The registry row of a kernel variant: what it computes, how, and whether it can run a given product.
//
// Rows are written by the generator from native/variants/table.mjs; a backend derives its own row type with the
// function that runs the kernel.
#pragma once
#include <string>
#include <vector>

#include "core/problem.h"

namespace mpmml {

struct Parameter {
  const char* name;
  const char* value;  ///< as it stands in the table
  bool is_number;
};

struct Variant {
  const char* name;
  const char* family;
  BackendKind backend;
  SemiringId semiring;
  DataType dtype;
  std::vector<Parameter> parameters;
  /// The range paths that the kernel computes exactly, as bits 1 << RangePath.
  unsigned paths;
  /// Whether the planner may take the variant unasked; the others run only by name.
  bool automatic;

  bool runs(RangePath path) const { return (paths >> static_cast<unsigned>(path)) & 1u; }
};

/// The range paths that a kernel over this arithmetic runs.
template <class... Arithmetic>
constexpr unsigned paths_of() {
  unsigned paths = 0;
  for (const RangePath path : {RangePath::kDirect, RangePath::kTranslated, RangePath::kWide, RangePath::kWrapping}) {
    if ((Arithmetic::runs(path) || ...)) paths |= 1u << static_cast<unsigned>(path);
  }
  return paths;
}

}  // namespace mpmml
