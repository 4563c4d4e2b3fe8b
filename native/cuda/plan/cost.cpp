#include "cuda/plan/cost.h"

#include <algorithm>
#include <cmath>

namespace mpmml::cuda {
namespace {

// Measured on an H200: the cost of starting a kernel, and of what a block does before and after its main loop.
constexpr double kLaunchClocks = 6000;
constexpr double kBlockClocks = 2500;
// Warps that keep a multiprocessor's pipes busy. Fewer warps reach about the square root of their share.
constexpr double kBusyWarps = 16;
// The least time from the operands of a tile of K to those of the next. The pipelined kernels' tiles take longer anyway.
constexpr double kTileClocks = 800;

}  // namespace

double estimate_clocks(const KernelShape& shape, bool packs, const Problem& problem, const DeviceLimits& device,
                       int blocks) {
  const int64_t tiles = ceil_div(problem.m(), shape.tile_m) * ceil_div(problem.n(), shape.tile_n) * problem.batch;
  const double steps = double(shape.tile_m) * shape.tile_n * ceil_div(problem.k(), shape.tile_k) * shape.tile_k;
  const double warps = shape.threads / 32.0 / shape.tiles;
  const auto clocks_of = [&](int64_t resident) {
    const double share = std::min(1.0, resident * warps / kBusyWarps);
    const double busy = resident * steps / (shape.steps_per_clock * std::sqrt(share));
    return std::max(busy, kTileClocks * ceil_div(problem.k(), shape.tile_k)) + kBlockClocks;
  };
  const int64_t at_once = int64_t{device.multiprocessors} * blocks * shape.tiles;
  double clocks = kLaunchClocks + tiles / at_once * clocks_of(int64_t{blocks} * shape.tiles);
  if (tiles % at_once > 0) clocks += clocks_of(ceil_div(tiles % at_once, device.multiprocessors));
  const int64_t items_a = items_of(problem.a, problem.batch), items_b = items_of(problem.b, problem.batch);
  if (packs) {
    const double lines = double(problem.m()) * items_a + double(problem.n()) * items_b;
    const double padded_lines =
        double(round_up(problem.m(), shape.tile_m)) * items_a + double(round_up(problem.n(), shape.tile_n)) * items_b;
    const double bytes = lines * problem.k() + padded_lines * round_up(problem.k(), shape.tile_k);
    return clocks + 2 * kLaunchClocks + element_bytes(problem.operation.dtype) * bytes / device.bytes_per_clock;
  }
  // Not before the operands are read and C is written, once each.
  const double elements = double(problem.m()) * problem.k() * items_a + double(problem.k()) * problem.n() * items_b +
                          double(problem.outputs());
  return std::max(clocks, kLaunchClocks + element_bytes(problem.operation.dtype) * elements / device.bytes_per_clock);
}

double estimate_search_clocks(bool in_chunks, const Problem& problem, const DeviceLimits& device) {
  // Per result and multiprocessor, for an H200: within a chunk the reading of 256 bytes from the L2 cache, and otherwise
  // some ten instructions for each step.
  constexpr double kClocksInChunk = 10, kStepsPerClock = 12;
  const double outputs = double(problem.outputs());
  const double clocks = in_chunks ? kClocksInChunk * outputs : outputs * double(problem.k()) / kStepsPerClock;
  return kLaunchClocks + clocks / device.multiprocessors;
}

}  // namespace mpmml::cuda
