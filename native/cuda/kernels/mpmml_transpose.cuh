// What the Transpose parameter of the MPMML family prepares: A stored along its columns, as B is along its rows. This
// is a pass of its own before the kernel, and timed separately. If the caller's A is already stored that way, it is
// read in place.
#pragma once
#include "cuda/kernels/kernel.h"
#include "cuda/runtime/error.h"

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

inline bool lies_along_columns(const MatrixView& a) { return a.row_stride == 1; }

/// Memory for A transposed: none if A is already stored that way, and none for B.
inline int64_t transposed_bytes(const Launch& launch, Side side) {
  if (side == Side::kB || lies_along_columns(launch.a)) return 0;
  return items_of(launch.a, launch.batch) * launch.m * launch.k * element_bytes(launch.dtype);
}

/// Queues the transposition of A into launch.packed_a.
template <class Element>
void transpose_a(const Launch& launch, Side side) {
  if (transposed_bytes(launch, side) == 0) return;
  Launch all = launch;
  all.batch = items_of(launch.a, launch.batch);
  for_instances(all, [&](const Launch& part) {
    const dim3 grid(static_cast<unsigned>(ceil_div(part.m, kTransposeTile) * ceil_div(part.k, kTransposeTile)), 1,
                    static_cast<unsigned>(part.batch));
    MatrixView source = part.a;
    source.rows = part.m;
    source.cols = part.k;
    auto* target =
        static_cast<Element*>(launch.packed_a) + (part.first_instance - launch.first_instance) * part.m * part.k;
    transpose_kernel<Element><<<grid, dim3(kTransposeTile, kTransposeRows), 0, part.stream>>>(source, target);
  });
  MPMML_CUDA(cudaGetLastError());
}

/// The launch with A transposed.
inline Launch with_transposed_a(Launch launch) {
  if (lies_along_columns(launch.a)) return launch;
  launch.a.data = launch.packed_a;
  launch.a.row_stride = 1;
  launch.a.col_stride = launch.m;
  if (launch.a.batch_stride != 0) launch.a.batch_stride = launch.m * launch.k;
  return launch;
}

}  // namespace mpmml::cuda
