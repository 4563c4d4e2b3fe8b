#include "cuda/plan/cost.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mpmml::cuda {
namespace {

// Measured on an H200: cost of a launch, and (kBlockClocks) of a block's prologue and epilogue.
constexpr double kLaunchClocks = 6000;
// Measured on an H200, on products of 64³ to 512³: cost of the two packing launches, which overlap.
constexpr double kPackingClocks = 6000;
constexpr double kBlockClocks = 2500;
// Number of warps that saturate a multiprocessor's pipes. With fewer warps, the throughput is about the square root of
// their fraction.
constexpr double kBusyWarps = 16;
// Minimum latency per tile of K. Tiles of the pipelined kernels always take longer.
constexpr double kTileClocks = 800;
// Measured on an H200: extra cost of a stream-K share, of each further tile of the share, and of each part of a tile in
// the fix-up.
constexpr double kShareClocks = 21000, kNextTileClocks = 6000, kPartClocks = 800;
// Stream-K is used only if its estimate is below this fraction of the estimate for whole tiles, because estimates err.
constexpr double kWorthDividing = 0.97;

/// Estimates the clocks of a kernel's blocks.
class BlockClocks {
 public:
  BlockClocks(const KernelShape& shape, const DeviceLimits& device, int blocks)
      : shape_(shape), multiprocessors_(device.multiprocessors), blocks_(blocks) {}

  /// Returns the number of concurrent tiles on the device (a wave).
  int64_t at_once() const { return int64_t{multiprocessors_} * blocks_ * shape_.tiles; }

  /// Returns the clocks of `tiles` tiles with `depth` k-steps.
  double of_tiles(int64_t tiles, double depth) const {
    double clocks = double(tiles / at_once()) * of_resident(int64_t{blocks_} * shape_.tiles, depth);
    if (tiles % at_once() > 0) clocks += of_resident(ceil_div(tiles % at_once(), multiprocessors_), depth);
    return clocks;
  }

  double of_division(const StreamKSchedule& division) const {
    const double whole = division.whole > 0 ? of_tiles(division.whole, double(division.depth) * shape_.tile_k) : 0;
    if (division.shares == 0) return whole;
    const auto longest = double(division.least + (division.longer > 0 ? 1 : 0));
    const double parts = double(division.shares) / division.tiles + 1;
    return whole + (whole > 0 ? kLaunchClocks : 0) +
           of_resident(ceil_div(division.shares, multiprocessors_), longest * shape_.tile_k) + kShareClocks +
           kNextTileClocks * longest / division.depth + kPartClocks * parts;
  }

 private:
  /// Returns the clocks of `resident` concurrent tiles per multiprocessor.
  double of_resident(int64_t resident, double depth) const {
    const double warps = shape_.threads / 32.0 / shape_.tiles;
    const double steps = double(shape_.tile_m) * shape_.tile_n * depth;
    const double share = std::min(1.0, resident * warps / kBusyWarps);
    const double busy = resident * steps / (shape_.steps_per_clock * std::sqrt(share));
    return std::max(busy, kTileClocks * depth / shape_.tile_k) + kBlockClocks;
  }

  const KernelShape& shape_;
  const int multiprocessors_, blocks_;
};

/// Returns a schedule that divides all tiles but the first `whole`.
StreamKSchedule divide(const TileGrid& grid, int64_t whole, int64_t shares) {
  const int64_t tiles = grid.of_instance * grid.instances - whole, steps = tiles * grid.depth;
  StreamKSchedule division{};
  division.whole = whole;
  division.tiles = static_cast<unsigned>(tiles);
  division.of_instance = static_cast<unsigned>(grid.of_instance);
  division.depth = static_cast<unsigned>(grid.depth);
  division.shares = static_cast<unsigned>(shares);
  division.least = static_cast<unsigned>(steps / shares);
  division.longer = static_cast<unsigned>(steps % shares);
  return division;
}

/// Number of tiles of C with results in all batch entries, and their average depth.
struct Needed {
  double tiles, depth;
};

/// Returns the tiles that a product needs. Kernels that pack skip the tiles that the structure excludes. If there are
/// many tiles, the estimate uses a sample.
Needed needed_of(const KernelShape& shape, bool packs, const Problem& problem) {
  constexpr int64_t kMaxSamples = 16;  // along each dimension
  const int64_t m = problem.m(), n = problem.n(), k = problem.k();
  const int64_t tiles_m = ceil_div(m, shape.tile_m), tiles_n = ceil_div(n, shape.tile_n);
  const double tiles = double(tiles_m) * double(tiles_n) * double(problem.batch);
  const auto depth = double(round_up(k, shape.tile_k));
  if (!packs || problem.structure.is_general(m, n, k)) return {tiles, depth};
  const int64_t samples_m = std::min(kMaxSamples, tiles_m), samples_n = std::min(kMaxSamples, tiles_n);
  const auto tile = [](int64_t sample, int64_t samples, int64_t tiles, int64_t size, int64_t end) {
    const int64_t first = (2 * sample + 1) * tiles / (2 * samples) * size;
    return Span{first, std::min(first + size, end)};
  };
  double found = 0, steps = 0;
  for (int64_t i = 0; i < samples_m; ++i) {
    const Span rows = tile(i, samples_m, tiles_m, shape.tile_m, m);
    for (int64_t j = 0; j < samples_n; ++j) {
      const Span cols = tile(j, samples_n, tiles_n, shape.tile_n, n);
      if (!problem.structure.c.has_some(rows, cols)) continue;
      const Span needed = problem.structure.steps(rows, cols, k);
      ++found;
      if (!needed.is_empty()) steps += double(round_up(needed.end - needed.first, shape.tile_k));
    }
  }
  if (found == 0) return {0, 0};
  return {tiles * found / double(samples_m * samples_n), steps / found};
}

}  // namespace

TileGrid tile_grid(const KernelShape& shape, int64_t m, int64_t n, int64_t k, int64_t instances) {
  return {ceil_div(m, shape.tile_m) * ceil_div(n, shape.tile_n), instances, ceil_div(k, shape.tile_k)};
}

StreamKSchedule best_division(const KernelShape& shape, const TileGrid& grid, const DeviceLimits& device, int blocks) {
  // Limit of tiles of K for 32-bit counters, with a margin of one share.
  constexpr int64_t kMaxTilesOfK = int64_t{1} << 30;
  const int64_t tiles = grid.of_instance * grid.instances;
  StreamKSchedule best{};
  if (!shape.divides || blocks == 0 || tiles == 0 || tiles > kMaxTilesOfK) return best;
  const BlockClocks clocks(shape, device, blocks);
  double least = kWorthDividing * clocks.of_tiles(tiles, double(grid.depth) * shape.tile_k);
  const int64_t at_once = clocks.at_once(), in_waves = tiles / at_once * at_once;
  // In a batch, the entries with whole tiles share one launch of all their tiles.
  const int64_t unit = grid.instances > 1 ? grid.of_instance : at_once;
  for (const int64_t whole : {in_waves / unit * unit, int64_t{0}}) {
    const int64_t steps = (tiles - whole) * grid.depth;
    if (steps > kMaxTilesOfK) continue;
    for (int64_t shares = std::min(at_once, steps); shares > 0; shares /= 2) {
      const StreamKSchedule division = divide(grid, whole, shares);
      const double taken = clocks.of_division(division);
      if (taken >= least) continue;
      least = taken;
      best = division;
    }
  }
  return best;
}

double estimate_clocks(const KernelShape& of_rows, bool packs, const Problem& problem, const DeviceLimits& device,
                       int blocks) {
  KernelShape shape = of_rows;
  if (shape.turns && problem.n() < problem.m()) std::swap(shape.tile_m, shape.tile_n);
  const Needed needed = needed_of(shape, packs, problem);
  const auto tiles = static_cast<int64_t>(std::ceil(needed.tiles));
  const BlockClocks block_clocks(shape, device, blocks);
  double clocks = kLaunchClocks + block_clocks.of_tiles(tiles, needed.depth);
  const int64_t m = problem.m(), n = problem.n(), k = problem.k();
  if (shape.divides && problem.structure.is_general(m, n, k)) {
    const StreamKSchedule division = best_division(shape, tile_grid(shape, m, n, k, problem.batch), device, blocks);
    if (division.shares > 0) clocks = kLaunchClocks + block_clocks.of_division(division);
  }
  const int64_t items_a = items_of(problem.a, problem.batch), items_b = items_of(problem.b, problem.batch);
  if (packs) {
    // The packed form of a resident matrix is cached, so its cost is amortized over several products.
    const auto bytes = [&](const MatrixView& view, double lines, double padded_lines) {
      const double elements = lines * double(k) + padded_lines * double(round_up(k, shape.tile_k));
      return element_bytes(problem.operation.dtype) * elements * (view.memory ? 0.5 : 1);
    };
    const double all = bytes(problem.a, double(m) * items_a, double(round_up(m, shape.tile_m)) * items_a) +
                       bytes(problem.b, double(n) * items_b, double(round_up(n, shape.tile_n)) * items_b);
    return clocks + kPackingClocks + all / device.bytes_per_clock;
  }
  // Lower bound by memory bandwidth: the operands are read and C is written once.
  const double elements = double(problem.m()) * problem.k() * items_a + double(problem.k()) * problem.n() * items_b +
                          double(problem.outputs());
  return std::max(clocks, kLaunchClocks + element_bytes(problem.operation.dtype) * elements / device.bytes_per_clock);
}

double estimate_search_clocks(bool in_chunks, const Problem& problem, const DeviceLimits& device) {
  // Clocks per result and multiprocessor of an H200. A search within a chunk reads 256 bytes from the L2 cache; a
  // search through all of K takes about ten instructions per step.
  constexpr double kClocksInChunk = 10, kStepsPerClock = 12;
  const double outputs = double(problem.outputs());
  const double clocks = in_chunks ? kClocksInChunk * outputs : outputs * double(problem.k()) / kStepsPerClock;
  return kLaunchClocks + clocks / device.multiprocessors;
}

}  // namespace mpmml::cuda
