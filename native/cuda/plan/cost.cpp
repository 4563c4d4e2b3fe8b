#include "cuda/plan/cost.h"

#include <algorithm>
#include <cmath>

namespace mpmml::cuda {
namespace {

// Measured on an H200: what starting a kernel costs, and a block before and after its main loop.
constexpr double kLaunchClocks = 6000;
constexpr double kBlockClocks = 2500;
// Warps that keep a multiprocessor's pipes busy; fewer reach about the square root of their share.
constexpr double kBusyWarps = 16;

int64_t divide_up(int64_t size, int64_t by) { return (size + by - 1) / by; }

}  // namespace

double estimate_clocks(const KernelShape& shape, bool packs, const Problem& problem, const DeviceLimits& device,
                       int blocks) {
  const int64_t tiles = divide_up(problem.m(), shape.tile_m) * divide_up(problem.n(), shape.tile_n) * problem.batch;
  const double steps = double(shape.tile_m) * shape.tile_n * divide_up(problem.k(), shape.tile_k) * shape.tile_k;
  const auto clocks_of = [&](int64_t resident) {
    const double share = std::min(1.0, resident * (shape.threads / 32) / kBusyWarps);
    return resident * steps / (shape.steps_per_clock * std::sqrt(share)) + kBlockClocks;
  };
  const int64_t at_once = int64_t{device.multiprocessors} * blocks;
  double clocks = kLaunchClocks + tiles / at_once * clocks_of(blocks);
  if (tiles % at_once > 0) clocks += clocks_of(divide_up(tiles % at_once, device.multiprocessors));
  if (packs) {
    const double elements = double(problem.k()) * (problem.m() + problem.n()) * problem.batch;
    clocks += 2 * kLaunchClocks + 2.0 * element_bytes(problem.dtype) * elements / device.bytes_per_clock;
  }
  return clocks;
}

}  // namespace mpmml::cuda
