// What the Transpose parameter of the MPMML family prepares: A stored along its columns, as B is along its rows. This
// is a pass of its own before the kernel, and timed separately. If the caller's A is already stored that way, it is
// read in place.
#pragma once
#include "core/problem/layout.h"

namespace mpmml::cuda {

constexpr int kTransposeTile = 32;
constexpr int kTransposeRows = 8;

/// target[k][row] = source(row, k), in tiles that pass through shared memory; instances are the grid's third dimension.
template <class Element>
__global__ void __launch_bounds__(kTransposeTile* kTransposeRows) transpose_kernel(MatrixView source, Element* target) {
  __shared__ Element tile[kTransposeTile][kTransposeTile + 1];
  const auto* data = static_cast<const Element*>(source.data) + blockIdx.z * source.batch_stride;
  target += blockIdx.z * source.rows * source.cols;
  const int64_t tiles_k = ceil_div(source.cols, kTransposeTile);
  const int64_t first_row = blockIdx.x / tiles_k * kTransposeTile, first_k = blockIdx.x % tiles_k * kTransposeTile;
#pragma unroll
  for (int part = 0; part < kTransposeTile; part += kTransposeRows) {
    const int64_t row = first_row + threadIdx.y + part, k = first_k + threadIdx.x;
    if (row < source.rows && k < source.cols) {
      tile[threadIdx.y + part][threadIdx.x] = data[row * source.row_stride + k * source.col_stride];
    }
  }
  __syncthreads();
#pragma unroll
  for (int part = 0; part < kTransposeTile; part += kTransposeRows) {
    const int64_t row = first_row + threadIdx.x, k = first_k + threadIdx.y + part;
    if (row < source.rows && k < source.cols) target[k * source.rows + row] = tile[threadIdx.x][threadIdx.y + part];
  }
}

}  // namespace mpmml::cuda
