// The host side of the MPMML family.
#pragma once
#include "cuda/device/error.h"
#include "cuda/launch/kernel.h"
#include "lab/thesis/mpmml.cuh"
#include "lab/thesis/mpmml_transpose.cuh"

namespace mpmml::cuda {

inline bool lies_along_columns(const MatrixView& a) { return a.row_stride == 1; }

/// Memory for A transposed: none if A is already stored that way, and none for B.
inline int64_t transposed_bytes(const Launch& launch, Side side) {
  if (side == Side::kB || lies_along_columns(launch.a)) return 0;
  return items_of(launch.a, launch.batch) * launch.m * launch.k * element_bytes(launch.dtype);
}

/// Queues the transposition of A into launch.packed_a.
template <class Element>
void transpose_a(const Launch& launch, Side side) {
  if (transposed_bytes(launch, side) == 0) return;
  Launch all = launch;
  all.batch = items_of(launch.a, launch.batch);
  for_instances(all, [&](const Launch& part) {
    const dim3 grid(static_cast<unsigned>(ceil_div(part.m, kTransposeTile) * ceil_div(part.k, kTransposeTile)), 1,
                    static_cast<unsigned>(part.batch));
    MatrixView source = part.a;
    source.rows = part.m;
    source.cols = part.k;
    auto* target =
        static_cast<Element*>(launch.packed_a) + (part.first_instance - launch.first_instance) * part.m * part.k;
    transpose_kernel<Element><<<grid, dim3(kTransposeTile, kTransposeRows), 0, part.stream>>>(source, target);
  });
  MPMML_CUDA(cudaGetLastError());
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
struct Family<Mpmml<parameters...>> {
  using Config = Mpmml<parameters...>;

  template <class... Arithmetics>
  static constexpr Kernel kernel() {
    constexpr bool kWide = (sizeof(typename Arithmetics::Accumulator) + ...) > sizeof...(Arithmetics) * 4;
    Kernel kernel{};
    kernel.paths = paths_of<Arithmetics...>();
    kernel.shape = {Config::kTileM, Config::kTileN, Config::S, Config::kThreads, 0, kWide ? 11.0 : 51.0, 0};
    kernel.launch = &launch<Arithmetics...>;
    kernel.function = &function<Arithmetics...>;
    if constexpr (Config::kTransposes) {
      kernel.packed_bytes = &transposed_bytes;
      kernel.pack = &transpose_a<std::common_type_t<typename Arithmetics::Element...>>;
    }
    return kernel;
  }

  template <class... Arithmetics>
  static void launch(const Launch& launch) {
    const int64_t tiles = ceil_div(launch.m, Config::kTileM) * ceil_div(launch.n, Config::kTileN);
    for_arithmetic<Arithmetics...>(launch, [&](auto arithmetic) {
      for_instances(Config::kTransposes ? with_transposed_a(launch) : launch, [&](const Launch& part) {
        const dim3 grid(static_cast<unsigned>(tiles), 1, static_cast<unsigned>(part.batch));
        mpmml_kernel<Config, decltype(arithmetic)><<<grid, Config::kThreads, 0, part.stream>>>(part, arithmetic);
      });
    });
    MPMML_CUDA(cudaGetLastError());
  }

  template <class... Arithmetics>
  static const void* function(RangePath path) {
    const void* kernel = nullptr;
    Launch launch{};
    launch.path = path;
    for_arithmetic<Arithmetics...>(launch, [&](auto arithmetic) {
      kernel = reinterpret_cast<const void*>(&mpmml_kernel<Config, decltype(arithmetic)>);
    });
    return kernel;
  }
};

}  // namespace mpmml::cuda
