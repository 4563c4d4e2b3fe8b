// The host side of the ladder: how tiles become grids, and launches.
#pragma once
#include <algorithm>

#include "cuda/device/error.h"
#include "cuda/launch/kernel.h"
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
    for (int64_t first = 0; first < slow; first += kMostBlocks) {
      body(part,
           dim3(static_cast<unsigned>(fast), static_cast<unsigned>(std::min(kMostBlocks, slow - first)),
                static_cast<unsigned>(part.batch)),
           first);
    }
  });
}

template <class Config>
struct LadderFamily {
  template <class Arithmetic>
  static constexpr Kernel kernel() {
    Kernel kernel{};
    kernel.paths = paths_of<Arithmetic>();
    // The planner never compares these kernels, so this speed isn't a measured one.
    kernel.shape = {Config::kTile, Config::kTile, Config::kTile, Config::kTile * Config::kTile, 0, 1.0, 0};
    kernel.launch = &launch<Arithmetic>;
    kernel.function = &function<Arithmetic>;
    if constexpr (Config::kPads) {
      kernel.packed_bytes = &padded_bytes<Config::kTile>;
      kernel.pack = &pad<Config::kTile, typename Arithmetic::Semiring>;
    }
    return kernel;
  }

 private:
  template <class Arithmetic>
  static void launch(const Launch& launch) {
    const Launch whole = Config::kPads ? with_padded_operands<Config::kTile>(launch) : launch;
    for_arithmetic<Arithmetic>(launch, [&](const Arithmetic& arithmetic) {
      for_grids<Config::kTile, Config::kOrder>(whole, [&](const Launch& part, dim3 grid, int64_t first_tile) {
        Config::template entry<Arithmetic>()<<<grid, dim3(Config::kTile, Config::kTile), 0, part.stream>>>(
            part, first_tile, arithmetic);
      });
    });
    MPMML_CUDA(cudaGetLastError());
  }

  template <class Arithmetic>
  static const void* function(RangePath) {
    return reinterpret_cast<const void*>(Config::template entry<Arithmetic>());
  }
};

}  // namespace mpmml::cuda::ladder

namespace mpmml::cuda {

template <int kTile, ladder::Order order>
struct Family<ladder::Naive<kTile, order>> : ladder::LadderFamily<ladder::Naive<kTile, order>> {};

template <int kTile, ladder::Order order, ladder::Borders borders>
struct Family<ladder::Tiled<kTile, order, borders>> : ladder::LadderFamily<ladder::Tiled<kTile, order, borders>> {};

template <int kTile, ladder::Order order, ladder::Borders borders>
struct Family<ladder::Prefetch<kTile, order, borders>> : ladder::LadderFamily<ladder::Prefetch<kTile, order, borders>> {
};

}  // namespace mpmml::cuda
