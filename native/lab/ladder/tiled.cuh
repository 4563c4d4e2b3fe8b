// Tiles in shared memory: a block of kTile × kTile threads copies a square tile of A and of B, one element of each per
// thread, and computes kTile steps from them. So an element of an operand is read from global memory once per kTile
// cells, not once per cell.
//
// Sources: J. Sun's report, section 4.2 and mult_matrix_shared (Order kCoalesced), which strides A by dim_1 instead of
// dim_2; A. Pöpl's tutorial, H1.2a, whose tx runs along the rows of C (kUncoalesced), and "Matrix Multiplication with
// Coalesced Access", whose tx runs along the columns. The tutorial's loop over n / TILE_SIZE tiles leaves out what is
// beyond whole tiles. The report's threads outside C skip the steps; here they compute them on border elements, as in
// Algorithm 2 of the paper that padding.cuh names.
#pragma once
#include "lab/ladder/operand.cuh"

namespace mpmml::cuda::ladder {

/// Both tiles of a block, and the steps that a thread computes from them.
template <class Arithmetic, int kTile>
struct Tiles {
  using Operand = typename Arithmetic::Operand;
  using Accumulator = typename Arithmetic::Accumulator;

  alignas(16) Operand a[kTile][kTile];
  alignas(16) Operand b[kTile][kTile];

  __device__ __forceinline__ Accumulator steps(Accumulator sum, int i, int j) const {
#pragma unroll
    for (int k = 0; k < kTile; ++k) sum = Arithmetic::accumulate(sum, a[i][k], b[k][j]);
    return sum;
  }
};

template <int kTile, Order order, Borders borders, class Arithmetic>
__global__ void __launch_bounds__(kTile* kTile)
    tiled_kernel(DeviceProblem problem, int64_t first_tile, Arithmetic arithmetic) {
  __shared__ Tiles<Arithmetic, kTile> tiles;
  const Cell<kTile, order> cell(first_tile);
  auto elements = TileElements<Arithmetic, borders, kTile>::of(problem, cell);
  auto sum = arithmetic.initial();
  for (int64_t k = 0; k < problem.k; k += kTile) {
    tiles.a[cell.i][cell.j] = elements.a.read(arithmetic);
    tiles.b[cell.i][cell.j] = elements.b.read(arithmetic);
    __syncthreads();
    sum = tiles.steps(sum, cell.i, cell.j);
    __syncthreads();
  }
  Epilogue<Arithmetic>(problem, arithmetic, blockIdx.z).store(cell.row, cell.col, sum);
}

}  // namespace mpmml::cuda::ladder
