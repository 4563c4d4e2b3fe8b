// Algorithm 4 of the thesis: each result by its definition, integers in 64-bit arithmetic, from the operands where they
// are.
// The reference that the others are checked against: it shares no code with them.
#pragma once
#include "core/exact.h"
#include "core/range.h"
#include "cpu/kernel.h"

namespace mpmml::cpu {

struct Naive {
  template <class First, class... Others>
  static constexpr Kernel kernel() {
    return {paths_of<First, Others...>(), {}, {scan_of<typename First::Semiring>(), multiply<First, Others...>}, {}};
  }

 private:
  template <class S>
  static constexpr decltype(RowsKernel::scan) scan_of() {
    if constexpr (std::is_integral_v<typename S::Element>) return scan<S>;
    return nullptr;
  }

  template <class S>
  static Occurring scan(const MatrixView& view, int64_t batch) {
    ValueRange range;
    for (int64_t row = 0; row < view.rows; ++row) {
      for (int64_t col = 0; col < view.cols; ++col) {
        const int64_t value = element_at<typename S::Element>(view, batch, row, col);
        if (value == S::zero) {
          range.has_zero = true;
        } else {
          range.merge({value, value, false});
        }
      }
    }
    return {range.minimum, range.maximum, range.has_zero};
  }

  template <class First, class... Others>
  static int64_t multiply(const Problem& problem, RangePath path, const MutableMatrixView& c, int64_t batch,
                          int64_t first_row, int64_t end_row) {
    if constexpr (sizeof...(Others) > 0) {
      if (!First::paths.has(path)) return multiply<Others...>(problem, path, c, batch, first_row, end_row);
    }
    return multiply_rows<First>(problem, c, batch, first_row, end_row);
  }

  template <class Arithmetic>
  static int64_t multiply_rows(const Problem& problem, const MutableMatrixView& c, int64_t batch, int64_t first_row,
                               int64_t end_row) {
    using Element = typename Arithmetic::Element;
    int64_t first_overflow = kNoOverflow;
    for (int64_t row = first_row; row < end_row; ++row) {
      for (int64_t col = 0; col < problem.n(); ++col) {
        const auto acc = exact_cell<Arithmetic>(problem, batch, row, col);
        const Element c0 =
            problem.c0.data ? element_at<Element>(problem.c0, batch, row, col) : Arithmetic::Semiring::zero;
        bool overflowed = false;
        static_cast<Element*>(c.data)[batch * c.batch_stride + row * c.row_stride + col * c.col_stride] =
            Arithmetic::finish(acc, c0, overflowed);
        if (overflowed && first_overflow == kNoOverflow) {
          first_overflow = (batch * problem.m() + row) * problem.n() + col;
        }
      }
    }
    return first_overflow;
  }
};

}  // namespace mpmml::cpu
