// How long a kernel would take: what the planner compares.
#pragma once
#include "cuda/device/device.h"
#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

/// Tiles of C that a launch computes, and how deep each is.
struct TileGrid {
  int64_t of_instance, instances;
  int64_t depth;  ///< in tiles of K
};
TileGrid tile_grid(const KernelShape& shape, int64_t m, int64_t n, int64_t k, int64_t instances);

/// The division with which a launch is estimated to take least time; without shares if that is none. It must have the
/// multiprocessors for itself, and no structure may leave anything out.
StreamKSchedule best_division(const KernelShape& shape, const TileGrid& grid, const DeviceLimits& device, int blocks);

/// Estimated clocks of packing and product, if `blocks` blocks of the kernel fit a multiprocessor at a time.
double estimate_clocks(const KernelShape& shape, bool packs, const Problem& problem, const DeviceLimits& device,
                       int blocks);

/// Clocks of the search for witnesses after a product: within chunks if its kernel notes them, or through all of K.
double estimate_search_clocks(bool in_chunks, const Problem& problem, const DeviceLimits& device);

}  // namespace mpmml::cuda
