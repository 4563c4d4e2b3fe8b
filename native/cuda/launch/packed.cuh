// What the families over packed operands share: their layout, and the launch.
#pragma once
#include "cuda/device/error.h"
#include "cuda/kernels/packed.cuh"
#include "cuda/launch/function.h"
#include "cuda/launch/kernel.h"
#include "cuda/launch/packing.cuh"

namespace mpmml::cuda {

/// Kernels over packed operands. `Config` gives a block's tile BM × BN × BK in rows, words and operands along K (an
/// operand is one k-step, or the several that the arithmetic packs), kSlices (of K), kThreads, shared_bytes<Word> and
/// entry<Arithmetic>(), the __global__ function.
template <class Config>
struct PackedKernel {
  template <class Arithmetic>
  using WordOf = typename Words<Arithmetic>::Word;
  template <class Arithmetic>
  using Packed = PackedProblem<WordOf<Arithmetic>>;

  template <class Arithmetic>
  static Packed<Arithmetic> layout(const Launch& launch) {
    Packed<Arithmetic> packed{};
    packed.padded_m = round_up(launch.m, Config::BM);
    packed.padded_n = round_up(launch.n, Config::BN * Words<Arithmetic>::kLanes) / Words<Arithmetic>::kLanes;
    packed.padded_k = round_up(ceil_div(launch.k, steps_per_operand<Arithmetic>), Config::BK * Config::kSlices);
    packed.a_instance = launch.a.batch_stride == 0 ? 0 : packed.padded_m * packed.padded_k;
    packed.b_instance = launch.b.batch_stride == 0 ? 0 : packed.padded_n * packed.padded_k;
    packed.a = static_cast<const WordOf<Arithmetic>*>(launch.packed_a);
    packed.b = static_cast<const WordOf<Arithmetic>*>(launch.packed_b);
    packed.one = 1;
    return packed;
  }

  template <class Arithmetic>
  static constexpr Kernel kernel(double steps_per_clock, int full_speed_from) {
    static_assert(Config::BM <= kMaxTile && Config::BN * Words<Arithmetic>::kLanes <= kMaxTile &&
                      Config::BK * Config::kSlices <= kMaxTile,
                  "workspace estimates assume tiles of at most kMostTile");
    Kernel kernel{};
    kernel.paths = paths_of<Arithmetic>();
    kernel.takes_int16 = true;
    kernel.launch = &launch<Arithmetic>;
    kernel.function = &function<Arithmetic>;
    kernel.packed_bytes = &packed_bytes<Arithmetic>;
    kernel.pack = &pack_operand<Arithmetic>;
    kernel.packs_bands = steps_per_operand<Arithmetic> == 1;
    kernel.shape = {Config::BM,
                    Config::BN * Words<Arithmetic>::kLanes,
                    Config::BK * Config::kSlices * steps_per_operand<Arithmetic>,
                    Config::kThreads,
                    Config::template shared_bytes<WordOf<Arithmetic>>,
                    steps_per_clock,
                    full_speed_from};
    return kernel;
  }

  template <class Arithmetic>
  static int64_t packed_bytes(const Launch& launch, Side side) {
    const Packed<Arithmetic> packed = layout<Arithmetic>(launch);
    const int64_t words = side == Side::kA ? packed.padded_m * items_of(launch.a, launch.batch)
                                           : packed.padded_n * items_of(launch.b, launch.batch);
    return words * packed.padded_k * int64_t{sizeof(WordOf<Arithmetic>)};
  }

  template <class Arithmetic>
  static void pack_operand(const Launch& launch, Side side) {
    const Packed<Arithmetic> packed = layout<Arithmetic>(launch);
    const bool is_a = side == Side::kA;
    const MatrixView& view = is_a ? launch.a : launch.b;
    const PackSource source = pack_source(launch, side);
    const PackTarget target{is_a ? launch.packed_a : launch.packed_b, items_of(view, launch.batch),
                            is_a ? packed.padded_m : packed.padded_n * Words<Arithmetic>::kLanes, packed.padded_k};
    for_arithmetic<Arithmetic>(launch, [&](const Arithmetic& arithmetic) {
      if constexpr (steps_per_operand<Arithmetic> > 1) {
        pack_bits<Arithmetic>(source, target, launch.stream);
      } else if (is_a) {
        pack<EncodeA<Arithmetic>>(source, target, {arithmetic}, launch.stream);
      } else {
        pack<EncodeB<Arithmetic>>(source, target, {arithmetic}, launch.stream);
      }
    });
  }

  template <class Arithmetic>
  static void launch(const Launch& launch) {
    const Packed<Arithmetic> packed = layout<Arithmetic>(launch);
    launch_tiles<Arithmetic>(launch, packed.padded_m / Config::BM * (packed.padded_n / Config::BN));
  }

  /// The same with the last tiles divided.
  template <class Arithmetic>
  static void launch_divided(const Launch& launch, const StreamKSchedule& division, const PartialTiles& memory) {
    if (division.whole > 0) {
      Launch whole = launch;
      if (launch.batch > 1) whole.batch = division.whole / division.of_instance;
      launch_tiles<Arithmetic>(whole, launch.batch > 1 ? division.of_instance : division.whole);
    }
    constexpr int kSharedBytes = Config::template shared_bytes<WordOf<Arithmetic>>;
    auto* const entry = Config::template divided_entry<Arithmetic>();
    allow_shared_bytes(reinterpret_cast<const void*>(entry), kSharedBytes);
    for_arithmetic<Arithmetic>(launch, [&](const Arithmetic& arithmetic) {
      entry<<<division.shares, Config::kThreads, kSharedBytes, launch.stream>>>(launch, layout<Arithmetic>(launch),
                                                                                arithmetic, division, memory);
    });
    MPMML_CUDA(cudaGetLastError());
  }

  template <class Arithmetic>
  static const void* function(ArithmeticKind) {
    return reinterpret_cast<const void*>(Config::template entry<Arithmetic>());
  }

 private:
  /// The first `tiles` tiles of each instance.
  template <class Arithmetic>
  static void launch_tiles(const Launch& launch, int64_t tiles) {
    constexpr int kSharedBytes = Config::template shared_bytes<WordOf<Arithmetic>>;
    auto* const entry = Config::template entry<Arithmetic>();
    allow_shared_bytes(function<Arithmetic>(launch.path), kSharedBytes);
    const Packed<Arithmetic> whole = layout<Arithmetic>(launch);
    for_arithmetic<Arithmetic>(launch, [&](const Arithmetic& arithmetic) {
      for_instances(launch, [&](const Launch& part) {
        Packed<Arithmetic> packed = whole;
        packed.a += part.first_instance * packed.a_instance;
        packed.b += part.first_instance * packed.b_instance;
        const dim3 grid(static_cast<unsigned>(tiles), 1, static_cast<unsigned>(part.batch));
        entry<<<grid, Config::kThreads, kSharedBytes, part.stream>>>(part, packed, arithmetic);
      });
    });
    MPMML_CUDA(cudaGetLastError());
  }
};

}  // namespace mpmml::cuda
