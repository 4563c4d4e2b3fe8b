// The host side of the exponent family.
#pragma once
#include "cuda/kernels/exponent.cuh"
#include "cuda/launch/exponents.cuh"

namespace mpmml::cuda {

template <int... parameters>
struct Family<ExponentTiles<parameters...>>
    : ExponentFamily<Family<ExponentTiles<parameters...>>, ExponentTiles<parameters...>> {
  static constexpr DeviceFeature kNeeds = DeviceFeature::kExponents;
  static constexpr int kFullSpeedFrom = 90;

  /// As if there were 16 warps, from what was measured on an H200: a kernel has 12.
  template <class Tiles, class Arithmetic>
  static constexpr double steps_per_clock() {
    if (Arithmetic::kByChunks) return 1000.0;
    return (Tiles::kFindsWitnesses ? 550.0 : 1360.0) * Arithmetic::kScale.steps / kChunkPlaces;
  }

  template <class Tiles, class Arithmetic>
  static auto* entry(const Arithmetic& arithmetic) {
    if constexpr (Arithmetic::kByChunks) {
      if (arithmetic.in_halves) return &exponent_kernel<InHalves<Tiles>, Arithmetic>;
    }
    return &exponent_kernel<Tiles, Arithmetic>;
  }

  static ExponentProblem operands(const ExponentOperand& a, const ExponentOperand& b, int tiles_m, int tiles_n,
                                  int tiles_k) {
    return {a, b, tiles_m, tiles_n, tiles_k, 1};
  }
};

}  // namespace mpmml::cuda
