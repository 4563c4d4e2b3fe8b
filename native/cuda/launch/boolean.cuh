// The host side of the boolean family.
#pragma once
#include "cuda/device/device.h"
#include "cuda/device/error.h"
#include "cuda/kernels/boolean.cuh"
#include "cuda/launch/function.h"
#include "cuda/launch/kernel.h"
#include "cuda/launch/packing.cuh"
#include "cuda/launch/tile_witness.cuh"

namespace mpmml::cuda {

template <int... parameters>
struct Family<BooleanTiles<parameters...>> {
  using Config = BooleanTiles<parameters...>;

  template <class Arithmetic>
  static constexpr Kernel kernel() {
    // Steps per clock measured on an H200.
    Kernel kernel = kernel_of<Config, Arithmetic>(20000);
    if constexpr (Arithmetic::Semiring::idempotent) kernel.in_chunks = &kFinder<Arithmetic>;
    return kernel;
  }

 private:
  template <class Tiles, class Arithmetic>
  static constexpr Kernel kernel_of(double steps_per_clock) {
    Kernel kernel{};
    kernel.paths = paths_of<Arithmetic>();
    kernel.needs = DeviceFeature::kPairs;
    kernel.launch = &launch<Tiles, Arithmetic>;
    kernel.function = &function<Tiles, Arithmetic>;
    kernel.packed_bytes = &packed_bytes;
    kernel.pack = &pack_operand<typename Arithmetic::Element>;
    kernel.shape = {Config::BM, Config::BN, Config::BK, Config::kThreads, Config::kSharedBytes, steps_per_clock, 90};
    return kernel;
  }

  template <class Arithmetic>
  static constexpr Kernel kFinder = kernel_of<FindsWitnesses<Config>, Arithmetic>(12000);

  static BooleanProblem layout(const Launch& launch) {
    BooleanProblem problem{};
    problem.tiles_m = ceil_div(launch.m, Config::BM);
    problem.tiles_n = ceil_div(launch.n, Config::BN);
    problem.tiles_k = static_cast<int>(ceil_div(launch.k, Config::BK));
    const auto operand = [&](const MatrixView& view, const void* packed, int64_t tiles) {
      const int64_t bytes = view.batch_stride == 0 ? 0 : tiles * problem.tiles_k * kBooleanTileBytes;
      return BooleanOperand{static_cast<const unsigned char*>(packed) + launch.first_instance * bytes, bytes};
    };
    problem.a = operand(launch.a, launch.packed_a, problem.tiles_m);
    problem.b = operand(launch.b, launch.packed_b, problem.tiles_n);
    return problem;
  }

  static int64_t packed_bytes(const Launch& launch, Side side) {
    const BooleanProblem problem = layout(launch);
    const int64_t items = items_of(side == Side::kA ? launch.a : launch.b, launch.batch);
    return items * (side == Side::kA ? problem.tiles_m : problem.tiles_n) * problem.tiles_k * kBooleanTileBytes;
  }

  template <class Element>
  static void pack_operand(const Launch& launch, Side side) {
    const bool is_a = side == Side::kA;
    const MatrixView& view = is_a ? launch.a : launch.b;
    const BooleanProblem problem = layout(launch);
    const int64_t tiles = is_a ? problem.tiles_m : problem.tiles_n;
    const int64_t items = items_of(view, launch.batch);
    auto* const target = static_cast<unsigned char*>(is_a ? launch.packed_a : launch.packed_b);
    for_runs(items, [&](Span run) {
      PackSource source = pack_source(launch, side);
      source.data = static_cast<const Element*>(source.data) + run.first * source.batch_stride;
      const dim3 grid(static_cast<unsigned>(tiles * kBooleanParts),
                      static_cast<unsigned>(std::min<int64_t>(kMaxBlocks, problem.tiles_k)),
                      static_cast<unsigned>(run.size()));
      boolean_pack_kernel<Element><<<grid, kBooleanPackThreads, 0, launch.stream>>>(
          source, target + run.first * tiles * problem.tiles_k * kBooleanTileBytes, problem.tiles_k);
    });
    MPMML_CUDA(cudaGetLastError());
  }

  template <class Tiles, class Arithmetic>
  static void launch(const Launch& launch) {
    allow_shared_bytes(function<Tiles, Arithmetic>(launch.path), Config::kSharedBytes);
    int device = 0;
    MPMML_CUDA(cudaGetDevice(&device));
    const int multiprocessors = device_limits(device).multiprocessors;
    const BooleanProblem problem = layout(launch);
    const int64_t tiles = problem.tiles_m * problem.tiles_n * launch.batch;
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(tiles, Config::kBlocks * multiprocessors));
    boolean_kernel<Tiles>
        <<<blocks, Config::kThreads, Config::kSharedBytes, launch.stream>>>(launch, problem, Arithmetic{});
    if constexpr (Tiles::kFindsWitnesses) {
      for_instances(launch, [&](const Launch& part) {
        const auto operand = [&](const BooleanOperand& whole) {
          return TiledOperand{whole.tiles + (part.first_instance - launch.first_instance) * whole.instance_bytes,
                              whole.instance_bytes / kBooleanTileBytes};
        };
        search_in_tiles<BooleanNote>(part, {operand(problem.a), operand(problem.b), problem.tiles_k});
      });
    }
    MPMML_CUDA(cudaGetLastError());
  }

  template <class Tiles, class Arithmetic>
  static const void* function(ArithmeticKind) {
    return reinterpret_cast<const void*>(&boolean_kernel<Tiles, Arithmetic>);
  }
};

}  // namespace mpmml::cuda
