// Reads of a thread's element of each tile of an operand: with guards, or without guards from a padded operand.
#pragma once
#include "lab/ladder/cell.cuh"

namespace mpmml::cuda::ladder {

/// Iterator over a thread's element of an operand's tiles along K. A line is a row of A or a column of B.
template <class Arithmetic, Borders borders, int kTile>
class TileElement {
 public:
  using Element = typename Arithmetic::Element;
  using Operand = typename Arithmetic::Operand;

  /// `k` is the thread's k-step in the first tile; `line_exists` states whether its line is inside the operand.
  __device__ __forceinline__ TileElement(const Element* data, int64_t line, int64_t line_stride, bool line_exists,
                                         int k, int64_t k_stride, int64_t depth, Element border)
      : next_(data + line * line_stride + k * k_stride), step_(kTile * k_stride), border_(border) {
    // A line that doesn't exist has no steps left.
    if constexpr (borders == Borders::kGuards) steps_left_ = line_exists ? depth - k : 0;
  }

  /// Returns the element of the next tile, or the padding value if it is outside the operand.
  __device__ __forceinline__ Operand read(const Arithmetic& arithmetic) {
    Operand operand;
    if constexpr (borders == Borders::kGuards) {
      operand = arithmetic.encode(steps_left_ > 0 ? *next_ : border_);
      steps_left_ -= kTile;
    } else {
      operand = arithmetic.encode(*next_);
    }
    next_ += step_;
    return operand;
  }

 private:
  const Element* next_;
  int64_t step_;
  int64_t steps_left_ = 0;
  Element border_;
};

/// Elements of A and B that a thread copies of each tile, at the thread's position.
template <class Arithmetic, Borders borders, int kTile>
struct TileElements {
  TileElement<Arithmetic, borders, kTile> a, b;

  template <Order order>
  static __device__ __forceinline__ TileElements of(const DeviceProblem& problem, const Cell<kTile, order>& cell) {
    using Semiring = typename Arithmetic::Semiring;
    using Element = typename Arithmetic::Element;
    const MatrixView &a = problem.a, &b = problem.b;
    const int64_t instance = blockIdx.z;
    return {{static_cast<const Element*>(a.data) + instance * a.batch_stride, cell.row, a.row_stride,
             cell.row < problem.m, cell.j, a.col_stride, problem.k, Semiring::border_a},
            {static_cast<const Element*>(b.data) + instance * b.batch_stride, cell.col, b.col_stride,
             cell.col < problem.n, cell.i, b.row_stride, problem.k, Semiring::border_b}};
  }
};

}  // namespace mpmml::cuda::ladder
