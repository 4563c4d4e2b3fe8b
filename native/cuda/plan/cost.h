// Cost model of kernels, in clocks, for the planner.
#pragma once
#include "cuda/device/device.h"
#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

/// Tiles of C of a launch, and their depth.
struct TileGrid {
  int64_t of_instance, instances;
  int64_t depth;  ///< in tiles of K
};
TileGrid tile_grid(const KernelShape& shape, int64_t m, int64_t n, int64_t k, int64_t instances);

/// Returns the stream-K schedule with the least estimated time; it has no shares if whole tiles are faster. The launch
/// must have the device to itself, and the product must have no structure.
StreamKSchedule best_division(const KernelShape& shape, const TileGrid& grid, const DeviceLimits& device, int blocks);

/// Returns the estimated clocks of packing and product. `blocks` is the number of resident blocks per multiprocessor.
double estimate_clocks(const KernelShape& shape, bool packs, const Problem& problem, const DeviceLimits& device,
                       int blocks);

/// Returns the estimated clocks of the witness search after a product: within chunks if the kernel notes them,
/// otherwise through all of K.
double estimate_search_clocks(bool in_chunks, const Problem& problem, const DeviceLimits& device);

}  // namespace mpmml::cuda
