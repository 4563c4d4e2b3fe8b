// The host side of the MPMML family.
#pragma once
#include "cuda/launch/direct.h"
#include "cuda/launch/packing.cuh"
#include "lab/thesis/mpmml.cuh"

namespace mpmml::cuda {

inline bool lies_along_columns(const MatrixView& a) { return a.row_stride == 1; }

/// Memory for A transposed: none if A is already stored that way, and none for B.
inline int64_t transposed_bytes(const Launch& launch, Side side) {
  if (side == Side::kB || lies_along_columns(launch.a)) return 0;
  return items_of(launch.a, launch.batch) * launch.m * launch.k * element_bytes(launch.dtype);
}

/// Queues the transposition of A into launch.packed_a: the Transpose parameter of the MPMML family. It is a pass of its own
/// before the kernel, and timed separately. A that is stored along its columns is read in place.
template <class S>
void transpose_a(const Launch& launch, Side side) {
  if (transposed_bytes(launch, side) == 0) return;
  const PackTarget target{launch.packed_a, items_of(launch.a, launch.batch), launch.m, launch.k};
  pack_stored<typename S::Element>(pack_source(launch, Side::kA), target, CopyElements<S>{S::zero}, launch.stream);
}

/// The launch with A transposed.
inline Launch with_transposed_a(Launch launch) {
  if (lies_along_columns(launch.a)) return launch;
  launch.a.data = launch.packed_a;
  launch.a.row_stride = 1;
  launch.a.col_stride = launch.m;
  if (launch.a.batch_stride != 0) launch.a.batch_stride = launch.m * launch.k;
  return launch;
}

template <int... parameters>
struct Family<Mpmml<parameters...>> : DirectFamily<Family<Mpmml<parameters...>>> {
  using Config = Mpmml<parameters...>;

  template <class... Arithmetics>
  static constexpr Kernel kernel() {
    constexpr bool kWide = (sizeof(typename Arithmetics::Accumulator) + ...) > sizeof...(Arithmetics) * 4;
    Kernel kernel = Family::template direct_kernel<Arithmetics...>(
        {Config::kTileM, Config::kTileN, Config::S, Config::kThreads, 0, kWide ? 11.0 : 51.0, 0});
    if constexpr (Config::kTransposes) {
      kernel.packed_bytes = &transposed_bytes;
      kernel.pack = &transpose_a<std::common_type_t<typename Arithmetics::Semiring...>>;
    }
    return kernel;
  }

  template <class Arithmetic>
  static auto* entry() {
    return &mpmml_kernel<Config, Arithmetic>;
  }

  template <class Arithmetic>
  static void queue(const Launch& launch, const Arithmetic& arithmetic) {
    const int64_t tiles = ceil_div(launch.m, Config::kTileM) * ceil_div(launch.n, Config::kTileN);
    for_instances(Config::kTransposes ? with_transposed_a(launch) : launch, [&](const Launch& part) {
      const dim3 grid(static_cast<unsigned>(tiles), 1, static_cast<unsigned>(part.batch));
      mpmml_kernel<Config, Arithmetic><<<grid, Config::kThreads, 0, part.stream>>>(part, arithmetic);
    });
  }
};

}  // namespace mpmml::cuda
