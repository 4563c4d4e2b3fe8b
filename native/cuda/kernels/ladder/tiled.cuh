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
#include "cuda/kernels/ladder/operand.cuh"
#include "cuda/kernels/ladder/padding.cuh"

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
    tiled_kernel(Launch problem, int64_t first_tile, Arithmetic arithmetic) {
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

/// What tiled kernels give the launcher; Config has their __global__ function.
template <class Config, int kTile, Order order, Borders borders>
struct TiledFamily {
  static constexpr bool kPads = borders == Borders::kPadding;

  template <class Arithmetic>
  static constexpr Kernel kernel() {
    Kernel kernel = kernel_of<Config, Arithmetic>();
    if constexpr (kPads) {
      kernel.packed_bytes = &padded_bytes<kTile>;
      kernel.pack = &pad<kTile, typename Arithmetic::Semiring>;
    }
    return kernel;
  }

  template <class Arithmetic>
  static void launch(const Launch& launch) {
    const Launch whole = kPads ? with_padded_operands<kTile>(launch) : launch;
    for_arithmetic<Arithmetic>(launch, [&](const Arithmetic& arithmetic) {
      for_grids<kTile, order>(whole, [&](const Launch& part, dim3 grid, int64_t first_tile) {
        Config::template global<Arithmetic>()<<<grid, dim3(kTile, kTile), 0, part.stream>>>(part, first_tile,
                                                                                            arithmetic);
      });
    });
    MPMML_CUDA(cudaGetLastError());
  }

  template <class Arithmetic>
  static const void* function(RangePath) {
    return reinterpret_cast<const void*>(Config::template global<Arithmetic>());
  }
};

template <int kTile_, Order order, Borders borders>
struct Tiled : TiledFamily<Tiled<kTile_, order, borders>, kTile_, order, borders> {
  static constexpr int kTile = kTile_;

  template <class Arithmetic>
  static constexpr auto global() {
    return &tiled_kernel<kTile, order, borders, Arithmetic>;
  }
};

}  // namespace mpmml::cuda::ladder
