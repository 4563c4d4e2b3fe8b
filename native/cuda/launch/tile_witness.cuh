// Queues the search for witnesses of products on tensor cores (kernels/tile_witness.cuh).
#pragma once
#include "cuda/kernels/tile_witness.cuh"
#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

/// Queues the search for witnesses in tiles, after the product. The batch of the launch must fit one grid.
template <class Note>
void search_in_tiles(const Launch& launch, const TileSearch& search) {
  const int64_t blocks = ceil_div(launch.m, int64_t{kTileSearchRows}) * ceil_div(launch.n, int64_t{kTileSearchCols});
  const dim3 grid(static_cast<unsigned>(blocks), 1, static_cast<unsigned>(launch.batch));
  tile_search_kernel<Note><<<grid, kTileSearchThreads, 0, launch.stream>>>(launch, search);
}

}  // namespace mpmml::cuda
