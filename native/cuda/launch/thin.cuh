// The host side of the thin family.
#pragma once
#include <tuple>

#include "cuda/device/error.h"
#include "cuda/kernels/thin.cuh"
#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

template <int... parameters>
struct Family<Thin<parameters...>> {
  using Config = Thin<parameters...>;

  template <class... Arithmetics>
  static constexpr Kernel kernel() {
    using Arithmetic = std::tuple_element_t<0, std::tuple<Arithmetics...>>;
    Kernel kernel{};
    kernel.paths = paths_of<Arithmetics...>();
    kernel.takes_int16 = true;
    kernel.launch = &launch<Arithmetics...>;
    kernel.function = &function<Arithmetics...>;
    kernel.shape = {Config::BM, lines<Arithmetic>, Config::BK, Config::kThreads, 0, steps_per_clock<Arithmetic>(), 0};
    kernel.shape.turns = true;
    return kernel;
  }

 private:
  template <class Arithmetic>
  static constexpr int lines = Config::template kLines<typename Arithmetic::Element>;

  /// Measured on an H200, with an operand of 4096 × 4096: as many as memory, and the loads of a pass, allow.
  template <class Arithmetic>
  static constexpr double steps_per_clock() {
    if (sizeof(typename Arithmetic::Accumulator) == 8) return sizeof(typename Arithmetic::Element) == 8 ? 6.2 : 8.4;
    return Config::BM <= 4 ? 12.5 : 19;
  }

  template <class... Arithmetics>
  static void launch(const Launch& launch) {
    const bool few_are_columns = launch.n < launch.m;
    const MatrixView &a = launch.a, &b = launch.b;
    const bool steps_are_near = few_are_columns ? a.col_stride <= a.row_stride : b.row_stride < b.col_stride;
    for_arithmetic<Arithmetics...>(launch, [&](const auto& arithmetic) {
      using Arithmetic = std::decay_t<decltype(arithmetic)>;
      auto* kernel = &thin_kernel<Config, Arithmetic, false>;
      if (steps_are_near) kernel = &thin_kernel<Config, Arithmetic, true>;
      for_instances(launch, [&](const Launch& instances) {
        for_lines(instances, few_are_columns, [&](const Launch& part) {
          const int64_t few = few_are_columns ? part.n : part.m, many = few_are_columns ? part.m : part.n;
          const dim3 grid(static_cast<unsigned>(ceil_div(many, lines<Arithmetic>)),
                          static_cast<unsigned>(ceil_div(few, Config::BM)), static_cast<unsigned>(part.batch));
          kernel<<<grid, Config::kThreads, 0, part.stream>>>(part, arithmetic, few_are_columns);
        });
      });
    });
    MPMML_CUDA(cudaGetLastError());
  }

  /// Calls `body` with parts of the launch that have no more of the fewer lines than a grid's second dimension can hold.
  template <class Body>
  static void for_lines(const Launch& launch, bool few_are_columns, Body&& body) {
    constexpr int64_t kMost = kMostBlocks * Config::BM;
    const int64_t few = few_are_columns ? launch.n : launch.m;
    for (int64_t first = 0; first < few; first += kMost) {
      const Span lines{first, std::min(first + kMost, few)};
      body(few_are_columns ? part_of(launch, {{0, launch.batch}, {0, launch.m}, lines})
                           : part_of(launch, {{0, launch.batch}, lines, {0, launch.n}}));
    }
  }

  template <class... Arithmetics>
  static const void* function(RangePath path) {
    const void* found = nullptr;
    for_arithmetic<Arithmetics...>(path, {}, {}, [&](const auto& arithmetic) {
      found = reinterpret_cast<const void*>(&thin_kernel<Config, std::decay_t<decltype(arithmetic)>, true>);
    });
    return found;
  }
};

}  // namespace mpmml::cuda
