// Algorithm 4 of the thesis: each result by its definition, read from the operands in place. Integer sums that can
// overflow use 64-bit arithmetic. This kernel is the reference for the other kernels and shares no code with them.
#pragma once
#include "core/problem/definition.h"
#include "core/problem/structured.h"
#include "cpu/kernel.h"

namespace mpmml::cpu {

struct Naive {
  template <class First, class... Others>
  static constexpr Kernel kernel() {
    return {paths_of<First, Others...>(), {}, {multiply<First, Others...>}, {}};
  }

 private:
  template <class First, class... Others>
  static int64_t multiply(const Problem& problem, ArithmeticKind path, const MutableMatrixView& c, int64_t batch,
                          int64_t first_row, int64_t end_row) {
    if constexpr (sizeof...(Others) > 0) {
      if (!First::paths.has(path)) return multiply<Others...>(problem, path, c, batch, first_row, end_row);
    }
    return multiply_rows<First>(problem, c, batch, first_row, end_row);
  }

  template <class Arithmetic>
  static int64_t multiply_rows(const Problem& problem, const MutableMatrixView& c, int64_t batch, int64_t first_row,
                               int64_t end_row) {
    using S = typename Arithmetic::Semiring;
    int64_t first_overflow = kNoOverflow;
    for (int64_t row = first_row; row < end_row; ++row) {
      const Span inside = span_of_row(problem.structure.c, row, problem.n());
      for (int64_t col = inside.first; col < inside.end; ++col) {
        const auto acc = exact_cell<Arithmetic>(problem, batch, row, col);
        const auto c0 = problem.c0.data ? element_at<S>(problem.c0, batch, row, col) : S::zero;
        const bool overflowed = store_result<Arithmetic>(problem, c, batch, row, col, acc);
        if constexpr (S::idempotent) {
          if (problem.witness.data) {
            store_witness<S>(problem, batch, row, col, c0, element_at<S>(c, batch, row, col));
          }
        }
        if (overflowed && first_overflow == kNoOverflow) {
          first_overflow = (batch * problem.m() + row) * problem.n() + col;
        }
      }
    }
    return first_overflow;
  }
};

}  // namespace mpmml::cpu
