// The host side of the small family.
#pragma once
#include <tuple>

#include "cuda/kernels/single_tile.cuh"
#include "cuda/launch/direct.h"

namespace mpmml::cuda {

/// Calls `body` with parts of the launch that have no more tiles of C than a grid's second and third dimension can hold.
template <class Config, class Body>
void for_tiles(const Launch& launch, Body&& body) {
  constexpr int64_t kMaxRows = kMaxBlocks * Config::BM, kMaxCols = kMaxBlocks * Config::BN;
  if (launch.m <= kMaxRows && launch.n <= kMaxCols) return body(launch);
  const auto for_rows = [&](Span rows) {
    for_runs(launch.n, [&](Span cols) { body(part_of(launch, {{0, launch.batch}, rows, cols})); }, kMaxCols);
  };
  for_runs(launch.m, for_rows, kMaxRows);
}

template <int... parameters>
struct Family<Small<parameters...>> : DirectFamily<Family<Small<parameters...>>> {
  using Config = Small<parameters...>;

  template <class... Arithmetics>
  static constexpr Kernel kernel() {
    Kernel kernel = Family::template direct_kernel<Arithmetics...>(
        {Config::BM, Config::BN, Config::BK * Config::kSlices, Config::kThreads, 0, steps_per_clock<Arithmetics...>(),
         0, Config::kTiles});
    kernel.takes_int16 = true;
    if constexpr (kTakesGroups) kernel.launch_group = &launch_group<Arithmetics...>;
    return kernel;
  }

  template <class Arithmetic>
  static auto* entry() {
    return &small_kernel<Config, Arithmetic>;
  }

  template <class Arithmetic>
  static void queue(const Launch& launch, const Arithmetic& arithmetic) {
    // As few threads as the batch needs, in whole warps, or all that are slices.
    constexpr int64_t kTilesOfWarp = 32 / Config::kTileThreads;
    const int64_t tiles = std::min<int64_t>(Config::kTiles, round_up(launch.batch, kTilesOfWarp));
    const auto threads = static_cast<unsigned>(tiles * Config::kTileThreads * Config::kSlices);
    constexpr int64_t kMaxBlocksOfInstances = (int64_t{1} << 31) - 1;
    const auto queue_piece = [&](const Launch& piece) {
      const dim3 grid(static_cast<unsigned>(ceil_div(piece.batch, tiles)),
                      static_cast<unsigned>(ceil_div(piece.m, Config::BM)),
                      static_cast<unsigned>(ceil_div(piece.n, Config::BN)));
      small_kernel<Config, Arithmetic><<<grid, threads, 0, piece.stream>>>(piece, arithmetic);
    };
    for_instances(
        launch, [&](const Launch& part) { for_tiles<Config>(part, queue_piece); }, kMaxBlocksOfInstances * tiles);
  }

 private:
  /// Groups are launched with the tiles of a warp only: the larger ones. Their products are of different sizes, so that
  /// small tiles gain nothing.
  static constexpr bool kTakesGroups = Config::kTileThreads == 32 && Config::BM >= 32 && Config::kSlices == 1;

  /// Measured on an H200, on batches of products of 4 × 4 tiles and 256 steps.
  template <class... Arithmetics>
  static constexpr double steps_per_clock() {
    using Arithmetic = std::tuple_element_t<0, std::tuple<Arithmetics...>>;
    using Accumulator = typename Arithmetic::Accumulator;
    using S = typename Arithmetic::Semiring;
    constexpr bool kIs64 = sizeof(Accumulator) == 8;
    if (Config::BM <= 4) return 5;
    if (Config::BM <= 8) return kIs64 ? 6.5 : 11.5;
    if (Config::BM <= 16) return 21;
    if (std::is_same_v<Accumulator, int64_t>) return 8.4;
    if (!S::idempotent) return kIs64 ? 22.5 : 46;
    const bool has_sums = S::extend_kind == OperatorKind::kSum || S::extend_kind == OperatorKind::kProduct;
    return has_sums ? (kIs64 ? 15 : 36) : (kIs64 ? 11 : 25);
  }

  template <class... Arithmetics>
  static void launch_group(const GroupLaunch& group) {
    if (group.tiles == 0) return;
    for_arithmetic<Arithmetics...>(group.path, {}, {}, [&](const auto& arithmetic) {
      using Arithmetic = std::decay_t<decltype(arithmetic)>;
      const auto blocks = static_cast<unsigned>(ceil_div(group.tiles, Config::kTiles));
      small_group_kernel<Config, Arithmetic><<<blocks, Config::kThreads, 0, group.stream>>>(group, arithmetic);
    });
    MPMML_CUDA(cudaGetLastError());
  }
};

}  // namespace mpmml::cuda
