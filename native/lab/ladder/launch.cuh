// The host side of the ladder: how tiles become grids, and launches.
#pragma once
#include <algorithm>

#include "cuda/launch/direct.h"
#include "lab/ladder/naive.cuh"
#include "lab/ladder/padding.cuh"
#include "lab/ladder/prefetch.cuh"
#include "lab/ladder/tiled.cuh"

namespace mpmml::cuda::ladder {

/// Calls `body(part, grid, first_tile)` for the launches that cover C in tiles. A grid's second dimension has at most
/// 65 535 blocks, and so does its third, the instances.
template <int kTile, Order order, class Body>
void for_grids(const Launch& launch, Body&& body) {
  const int64_t rows = ceil_div(launch.m, kTile), cols = ceil_div(launch.n, kTile);
  const int64_t fast = order == Order::kCoalesced ? cols : rows, slow = order == Order::kCoalesced ? rows : cols;
  for_instances(launch, [&](const Launch& part) {
    for (int64_t first = 0; first < slow; first += kMaxBlocks) {
      body(part,
           dim3(static_cast<unsigned>(fast), static_cast<unsigned>(std::min(kMaxBlocks, slow - first)),
                static_cast<unsigned>(part.batch)),
           first);
    }
  });
}

enum class Technique { kNaive, kTiled, kPrefetch };

/// A kernel of the ladder. Its blocks have kTile × kTile threads.
template <Technique technique, int kTile_, Order order, Borders borders>
struct Config {
  static constexpr int kTile = kTile_;
  static constexpr bool kPads = borders == Borders::kPadding;

  template <class Arithmetic>
  static constexpr auto entry() {
    if constexpr (technique == Technique::kNaive) {
      return &naive_kernel<kTile, order, Arithmetic>;
    } else if constexpr (technique == Technique::kTiled) {
      return &tiled_kernel<kTile, order, borders, Arithmetic>;
    } else {
      return &prefetch_kernel<kTile, order, borders, Arithmetic>;
    }
  }
};

}  // namespace mpmml::cuda::ladder

namespace mpmml::cuda {

template <ladder::Technique technique, int kTile, ladder::Order order, ladder::Borders borders>
struct Family<ladder::Config<technique, kTile, order, borders>>
    : DirectFamily<Family<ladder::Config<technique, kTile, order, borders>>> {
  using Config = ladder::Config<technique, kTile, order, borders>;

  template <class Arithmetic>
  static constexpr Kernel kernel() {
    // The planner never compares these kernels, so this speed isn't a measured one.
    Kernel kernel = Family::template direct_kernel<Arithmetic>({kTile, kTile, kTile, kTile * kTile, 0, 1.0, 0});
    if constexpr (Config::kPads) {
      kernel.packed_bytes = &ladder::padded_bytes<kTile>;
      kernel.pack = &ladder::pad<kTile, typename Arithmetic::Semiring>;
    }
    return kernel;
  }

  template <class Arithmetic>
  static constexpr auto entry() {
    return Config::template entry<Arithmetic>();
  }

  template <class Arithmetic>
  static void queue(const Launch& launch, const Arithmetic& arithmetic) {
    const Launch whole = Config::kPads ? ladder::with_padded_operands<kTile>(launch) : launch;
    ladder::for_grids<kTile, order>(whole, [&](const Launch& part, dim3 grid, int64_t first_tile) {
      entry<Arithmetic>()<<<grid, dim3(kTile, kTile), 0, part.stream>>>(part, first_tile, arithmetic);
    });
  }
};

}  // namespace mpmml::cuda
