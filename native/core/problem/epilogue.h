// Epilogue of products that are computed by their definition, one result at a time. (Kernels have epilogues of their
// own: cpu/epilogue.h, cuda/kernels/epilogue.cuh.)
#pragma once
#include "core/algebra/arithmetic.h"
#include "core/problem/problem.h"

namespace mpmml {

/// Stores C[item, row, col] = C0 ⊕ acc into `c`. Returns whether the result overflowed.
template <class Arithmetic>
bool store_result(const Problem& problem, const MutableMatrixView& c, int64_t item, int64_t row, int64_t col,
                  typename Arithmetic::Accumulator acc) {
  using S = typename Arithmetic::Semiring;
  using Element = typename S::Element;
  const Element c0 = problem.c0.data ? element_at<S>(problem.c0, item, row, col) : S::zero;
  bool overflowed = false;
  static_cast<Element*>(c.data)[item * c.batch_stride + row * c.row_stride + col * c.col_stride] =
      Arithmetic::finish(acc, c0, overflowed);
  return overflowed;
}

}  // namespace mpmml
