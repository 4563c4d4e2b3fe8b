// The baseline: one thread per cell, which reads a row of A and a column of B from global memory.
//
// Source: J. Sun's report, section 4.1 and mult_matrix_baseline, whose threadIdx.x runs along the rows of C: Order
// kUncoalesced. Its listing strides A by dim_1 and B by dim_2, but their rows have dim_2 and dim_3 elements. So it is
// right only for square matrices.
#pragma once
#include "lab/ladder/cell.cuh"

namespace mpmml::cuda::ladder {

template <int kTile, Order order, class Arithmetic>
__global__ void __launch_bounds__(kTile* kTile)
    naive_kernel(DeviceProblem problem, int64_t first_tile, Arithmetic arithmetic) {
  using Element = typename Arithmetic::Element;
  const Cell<kTile, order> cell(first_tile);
  if (cell.row >= problem.m || cell.col >= problem.n) return;
  const MatrixView &a = problem.a, &b = problem.b;
  const int64_t instance = blockIdx.z;
  const auto* row = static_cast<const Element*>(a.data) + instance * a.batch_stride + cell.row * a.row_stride;
  const auto* col = static_cast<const Element*>(b.data) + instance * b.batch_stride + cell.col * b.col_stride;
  auto sum = arithmetic.initial();
  for (int64_t k = 0; k < problem.k; ++k) {
    sum = arithmetic.accumulate(sum, arithmetic.encode(*row), arithmetic.encode(*col));
    row += a.col_stride;
    col += b.row_stride;
  }
  Epilogue<Arithmetic>(problem, arithmetic, blockIdx.z).store(cell.row, cell.col, sum);
}

}  // namespace mpmml::cuda::ladder
