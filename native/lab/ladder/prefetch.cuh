// Register prefetch: while a block computes the steps of one tile, its threads already load their elements of the next
// tile into registers. This hides the latency of global memory behind the steps.
//
// Source: A. Pöpl's tutorial, "Tiled Matrix Multiplication with Prefetching", steps 1 to 8, given there as homework
// without a listing. Its step 8, the last tile, is the last round of the loop here, in which nothing is read.
#pragma once
#include "lab/ladder/tiled.cuh"

namespace mpmml::cuda::ladder {

template <int kTile, Order order, Borders borders, class Arithmetic>
__global__ void __launch_bounds__(kTile* kTile)
    prefetch_kernel(DeviceProblem problem, int64_t first_tile, Arithmetic arithmetic) {
  __shared__ Tiles<Arithmetic, kTile> tiles;
  const Cell<kTile, order> cell(first_tile);
  auto elements = TileElements<Arithmetic, borders, kTile>::of(problem, cell);
  auto sum = arithmetic.initial();
  typename Arithmetic::Operand next_a{}, next_b{};
  if (problem.k > 0) {
    next_a = elements.a.read(arithmetic);
    next_b = elements.b.read(arithmetic);
  }
  for (int64_t k = 0; k < problem.k; k += kTile) {
    tiles.a[cell.i][cell.j] = next_a;
    tiles.b[cell.i][cell.j] = next_b;
    __syncthreads();
    if (k + kTile < problem.k) {
      next_a = elements.a.read(arithmetic);
      next_b = elements.b.read(arithmetic);
    }
    sum = tiles.steps(sum, cell.i, cell.j);
    __syncthreads();
  }
  Epilogue<Arithmetic>(problem, arithmetic, blockIdx.z).store(cell.row, cell.col, sum);
}

}  // namespace mpmml::cuda::ladder
