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

/// Tiles of C that have results, of all instances, and the average depth of one.
struct Needed {
  double tiles, depth;
};

/// A kernel that packs leaves out what the structure does. Of many tiles some are looked at.
Needed needed_of(const KernelShape& shape, bool packs, const Problem& problem) {
  constexpr int64_t kMostLooks = 16;  // along each dimension
  const int64_t m = problem.m(), n = problem.n(), k = problem.k();
  const int64_t tiles_m = ceil_div(m, shape.tile_m), tiles_n = ceil_div(n, shape.tile_n);
  const double tiles = double(tiles_m) * double(tiles_n) * double(problem.batch);
  const auto depth = double(round_up(k, shape.tile_k));
  if (!packs || problem.structure.is_general(m, n, k)) return {tiles, depth};
  const int64_t looks_m = std::min(kMostLooks, tiles_m), looks_n = std::min(kMostLooks, tiles_n);
  const auto tile = [](int64_t look, int64_t looks, int64_t tiles, int64_t size, int64_t end) {
    const int64_t first = (2 * look + 1) * tiles / (2 * looks) * size;
    return mpmml::Span{first, std::min(first + size, end)};
  };
  double found = 0, steps = 0;
  for (int64_t i = 0; i < looks_m; ++i) {
    const mpmml::Span rows = tile(i, looks_m, tiles_m, shape.tile_m, m);
    for (int64_t j = 0; j < looks_n; ++j) {
      const mpmml::Span cols = tile(j, looks_n, tiles_n, shape.tile_n, n);
      if (!problem.structure.has_results(rows, cols)) continue;
      const mpmml::Span needed = problem.structure.steps(rows, cols, k);
      ++found;
      if (!needed.is_empty()) steps += double(round_up(needed.end - needed.first, shape.tile_k));
    }
  }
  if (found == 0) return {0, 0};
  return {tiles * found / double(looks_m * looks_n), steps / found};
}

}  // namespace

double estimate_clocks(const KernelShape& shape, bool packs, const Problem& problem, const DeviceLimits& device,
                       int blocks) {
  const Needed needed = needed_of(shape, packs, problem);
  const auto tiles = static_cast<int64_t>(std::ceil(needed.tiles));
  const double steps = double(shape.tile_m) * shape.tile_n * needed.depth;
  const double warps = shape.threads / 32.0 / shape.tiles;
  const auto clocks_of = [&](int64_t resident) {
    const double share = std::min(1.0, resident * warps / kBusyWarps);
    const double busy = resident * steps / (shape.steps_per_clock * std::sqrt(share));
    return std::max(busy, kTileClocks * needed.depth / shape.tile_k) + kBlockClocks;
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
