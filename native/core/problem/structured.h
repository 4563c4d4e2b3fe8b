// Consequences of the structure of a product (structure.h): steps, and elements to clear.
#pragma once
#include <algorithm>
#include <vector>

#include "core/algebra/element_types.h"
#include "core/problem/layout.h"
#include "core/problem/problem.h"
#include "core/problem/structure.h"

namespace mpmml {

/// Returns the columns of a row that are in the band.
MPMML_HOST_DEVICE constexpr Span span_of_row(const Band& band, int64_t row, int64_t cols) {
  return band.of_row(row).within({0, cols});
}

/// Returns the k-steps of one result: steps with both elements in their bands.
MPMML_HOST_DEVICE constexpr Span steps_of_result(const Problem& problem, int64_t row, int64_t col) {
  return problem.structure.steps({row, row + 1}, {col, col + 1}, problem.a.cols);
}

/// Returns whether some element of A, B or C is outside of the structure.
inline bool is_structured(const Problem& problem) {
  return !problem.structure.is_general(problem.m(), problem.n(), problem.k());
}

/// Returns whether some element of A or B is outside of the structure.
inline bool has_structured_operands(const Problem& problem) {
  const auto& [a, b, c] = problem.structure;
  return !a.is_all(problem.m(), problem.k()) || !b.is_all(problem.k(), problem.n());
}

/// Returns the number of steps in the structure, for all results of one product of an m × k and a k × n matrix.
double steps_of(const Structure& structure, int64_t m, int64_t n, int64_t k);
/// Returns the number of steps in the structure, for all results of the batch.
double steps_of(const Problem& problem);

/// Sets the elements outside of the band. Does nothing for a null view.
template <class Element>
void fill_outside(const MutableMatrixView& view, int64_t batch, const Band& band, Element value) {
  if (!view.data) return;
  for (int64_t item = 0; item < batch; ++item) {
    for (int64_t row = 0; row < view.rows; ++row) {
      Element* const to = static_cast<Element*>(view.data) + item * view.batch_stride + row * view.row_stride;
      const Span inside = span_of_row(band, row, view.cols);
      const int64_t first = std::clamp<int64_t>(inside.first, 0, view.cols), end = std::max(inside.end, first);
      for (int64_t col = 0; col < first; ++col) to[col * view.col_stride] = value;
      for (int64_t col = end; col < view.cols; ++col) to[col * view.col_stride] = value;
    }
  }
}

/// Result of a product, and the value of its elements outside of the structure.
struct ClearedResult {
  MutableMatrixView view;
  DataType dtype;
  double value;
};

/// Returns the results whose elements outside of the structure must be initialized because their memory is new: C if it
/// needn't be kept, the witness if it isn't updated.
std::vector<ClearedResult> cleared_results(const Problem& problem);
/// Adds the requested auxiliary outputs.
void clear_auxiliary(const AuxiliaryOutputs& of, std::vector<ClearedResult>& to);

/// Sets the elements outside of the structure of results in host memory.
template <class Product>
void clear_outside(const Product& product) {
  for (const ClearedResult& it : cleared_results(product)) {
    with_element(it.dtype, [&](auto element) {
      fill_outside(it.view, product.batch, product.structure.c, static_cast<decltype(element)>(it.value));
    });
  }
}

}  // namespace mpmml
