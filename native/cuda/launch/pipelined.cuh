// The host side of the pipelined family.
#pragma once
#include "cuda/kernels/pipelined.cuh"
#include "cuda/launch/packed.cuh"

namespace mpmml::cuda {

template <int... parameters>
struct Family<Pipelined<parameters...>> {
  using Config = Pipelined<parameters...>;

  template <class Arithmetic>
  static constexpr Kernel kernel() {
    using S = typename Arithmetic::Semiring;
    Kernel kernel = plain_kernel<Config, Arithmetic>();
    if constexpr (kDivides<Arithmetic>) {
      kernel.shape.divides = true;
      kernel.launch_divided = &PackedKernel<Config>::template launch_divided<Arithmetic>;
    }
    if constexpr (Config::kSlices == 1 && S::idempotent && Words<Arithmetic>::kLanes == 1) {
      kernel.in_chunks = &kInChunks<Arithmetic>;
      if constexpr (is_integer_sum<S>) kernel.numbered = &kNumbered<S>;
    }
    return kernel;
  }

 private:
  /// Max-plus and min-plus on int32 and float32. One block per multiprocessor keeps the parts of tiles few: blocks without
  /// slices would move four times as many bytes.
  template <class Arithmetic>
  static constexpr bool kDivides = Config::kSlices == 4 && (is_integer_sum<typename Arithmetic::Semiring> ||
                                                            has_sum_signs<typename Arithmetic::Semiring>);

  template <class Tiles, class Arithmetic>
  static constexpr Kernel plain_kernel() {
    using W = Words<Arithmetic>;
    // Fewer results per thread than 8 × 8 load more operands for each step. 12 × 4 and 12 × 8 need only three quarters of the
    // warps that keep the pipes busy, of which the planner's estimate knows nothing.
    constexpr bool kIsFloat = std::is_floating_point_v<typename W::Word>;
    constexpr int kResults = Config::TM * Config::TN;
    constexpr double kOfResults = kResults < 48    ? 0.8
                                  : kResults == 48 ? (kIsFloat ? 0.95 : 1.08)
                                  : kResults == 64 ? 1
                                                   : 1.16;
    return PackedKernel<Tiles>::template kernel<Arithmetic>(
        (Config::kSlices == 1 ? W::kStepsPerClock : W::kStepsPerClockInSlices) * kOfResults, W::kFullSpeedFrom);
  }

  template <class Arithmetic>
  static constexpr Kernel chunk_kernel() {
    using Tiles = FindsWitnesses<Config>;
    Kernel kernel = plain_kernel<Tiles, Arithmetic>();
    // The notes take 160 of the 2800 instructions of a chunk.
    kernel.shape.steps_per_clock *= 0.94;
    kernel.notes_chunks = true;
    kernel.min_chunk_shift = Tiles::template min_chunk_shift<Arithmetic>;
    return kernel;
  }

  template <class Arithmetic>
  static constexpr Kernel kInChunks = chunk_kernel<Arithmetic>();
  template <class S>
  static constexpr Kernel kNumbered = plain_kernel<Config, IndexedSum<S>>();
};

}  // namespace mpmml::cuda
