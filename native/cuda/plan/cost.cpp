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

}  // namespace

double estimate_clocks(const KernelShape& shape, bool packs, const Problem& problem, const DeviceLimits& device,
                       int blocks) {
  const int64_t tiles = ceil_div(problem.m(), shape.tile_m) * ceil_div(problem.n(), shape.tile_n) * problem.batch;
  const double steps = double(shape.tile_m) * shape.tile_n * ceil_div(problem.k(), shape.tile_k) * shape.tile_k;
  const auto clocks_of = [&](int64_t resident) {
    const double share = std::min(1.0, resident * (shape.threads / 32) / kBusyWarps);
    return resident * steps / (shape.steps_per_clock * std::sqrt(share)) + kBlockClocks;
  };
  const int64_t at_once = int64_t{device.multiprocessors} * blocks;
  double clocks = kLaunchClocks + tiles / at_once * clocks_of(blocks);
  if (tiles % at_once > 0) clocks += clocks_of(ceil_div(tiles % at_once, device.multiprocessors));
  if (packs) {
    const int64_t items_a = items_of(problem.a, problem.batch), items_b = items_of(problem.b, problem.batch);
    const double lines = double(problem.m()) * items_a + double(problem.n()) * items_b;
    const double padded_lines =
        double(round_up(problem.m(), shape.tile_m)) * items_a + double(round_up(problem.n(), shape.tile_n)) * items_b;
    const double bytes = lines * problem.k() + padded_lines * round_up(problem.k(), shape.tile_k);
    clocks += 2 * kLaunchClocks + element_bytes(problem.operation.dtype) * bytes / device.bytes_per_clock;
  }
  return clocks;
}

}  // namespace mpmml::cuda
