// How long a kernel would take: what the planner compares.
#pragma once
#include "cuda/kernels/kernel.h"

namespace mpmml::cuda {

/// What the estimate needs to know about a device.
struct DeviceLimits {
  int capability;  ///< 90 is compute capability 9.0
  int multiprocessors;
  int shared_bytes_per_block;  ///< with the opt-in
  double bytes_per_clock;      ///< of device memory
  double bytes_per_ms;         ///< the same at the highest clock
};

/// DeviceLimits::bytes_per_clock and bytes_per_ms, from clocks in kHz and the width of the memory bus in bits. What a device
/// doesn't report, as 0, is taken to be like an H200's.
struct MemoryRates {
  double bytes_per_clock, bytes_per_ms;
};
constexpr MemoryRates memory_rates(int clock, int memory_clock, int bus_bits, int multiprocessors) {
  constexpr double kClock = 1980000, kBytesPerClockAndMultiprocessor = 19;
  const double clocks_per_ms = clock > 0 ? clock : kClock;
  // Two transfers per clock of the memory.
  const double bytes_per_ms = 2.0 * memory_clock * bus_bits / 8;
  const double bytes_per_clock =
      bytes_per_ms > 0 ? bytes_per_ms / clocks_per_ms : kBytesPerClockAndMultiprocessor * multiprocessors;
  return {bytes_per_clock, bytes_per_clock * clocks_per_ms};
}

/// Tiles of C that a launch computes, and how deep each is.
struct TileGrid {
  int64_t of_instance, instances;
  int64_t depth;  ///< in tiles of K
};
TileGrid tile_grid(const KernelShape& shape, int64_t m, int64_t n, int64_t k, int64_t instances);

/// The division with which a launch is estimated to take least time; without shares if that is none. It must have the
/// multiprocessors for itself, and no structure may leave anything out.
Division best_division(const KernelShape& shape, const TileGrid& grid, const DeviceLimits& device, int blocks);

/// Estimated clocks of packing and product, if `blocks` blocks of the kernel fit a multiprocessor at a time.
double estimate_clocks(const KernelShape& shape, bool packs, const Problem& problem, const DeviceLimits& device,
                       int blocks);

/// Clocks of the search for witnesses after a product: within chunks if its kernel notes them, or through all of K.
double estimate_search_clocks(bool in_chunks, const Problem& problem, const DeviceLimits& device);

}  // namespace mpmml::cuda
