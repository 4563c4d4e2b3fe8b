// The host side of the warp-exponent family.
#pragma once
#include "cuda/kernels/warp_exponent.cuh"
#include "cuda/launch/exponents.cuh"

namespace mpmml::cuda {

template <int... parameters>
struct Family<WarpExponentTiles<parameters...>>
    : ExponentFamily<Family<WarpExponentTiles<parameters...>>, WarpExponentTiles<parameters...>> {
  static constexpr DeviceFeature kNeeds = DeviceFeature::kWarpExponents;
  static constexpr int kFullSpeedFrom = 80;

  /// As if there were 16 warps, from what was measured on an H200.
  template <class Tiles, class Arithmetic>
  static constexpr double steps_per_clock() {
    if (Arithmetic::kByChunks) return 620.0;
    return 900.0 * Arithmetic::kScale.steps / kChunkPlaces;
  }

  template <class Tiles, class Arithmetic>
  static auto* entry(const Arithmetic&) {
    return &warpexponent_kernel<Tiles, Arithmetic>;
  }

  static WarpExponentProblem operands(const ExponentOperand& a, const ExponentOperand& b, int /*tiles_m*/,
                                      int /*tiles_n*/, int tiles_k) {
    return {a, b, tiles_k};
  }
};

}  // namespace mpmml::cuda
