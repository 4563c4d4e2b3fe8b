// The host side of the thin family.
#pragma once
#include <tuple>

#include "cuda/kernels/skinny.cuh"
#include "cuda/launch/direct.h"

namespace mpmml::cuda {

template <int... parameters>
struct Family<SkinnyConfig<parameters...>> : DirectFamily<Family<SkinnyConfig<parameters...>>> {
  using Config = SkinnyConfig<parameters...>;

  template <class... Arithmetics>
  static constexpr Kernel kernel() {
    using Arithmetic = std::tuple_element_t<0, std::tuple<Arithmetics...>>;
    KernelShape shape = {Config::BM, lines<Arithmetic>, Config::BK, Config::kThreads, 0, steps_per_clock<Arithmetic>(),
                         0};
    shape.turns = true;
    Kernel kernel = Family::template direct_kernel<Arithmetics...>(shape);
    kernel.takes_int16 = true;
    return kernel;
  }

  template <class Arithmetic>
  static auto* entry() {
    return &thin_kernel<Config, Arithmetic, true>;
  }

  template <class Arithmetic>
  static void queue(const Launch& launch, const Arithmetic& arithmetic) {
    const bool few_are_columns = launch.n < launch.m;
    const MatrixView &a = launch.a, &b = launch.b;
    const bool steps_are_near = few_are_columns ? a.col_stride <= a.row_stride : b.row_stride < b.col_stride;
    auto* const kernel = steps_are_near ? entry<Arithmetic>() : &thin_kernel<Config, Arithmetic, false>;
    for_instances(launch, [&](const Launch& instances) {
      for_lines(instances, few_are_columns, [&](const Launch& part) {
        const int64_t few = few_are_columns ? part.n : part.m, many = few_are_columns ? part.m : part.n;
        const dim3 grid(static_cast<unsigned>(ceil_div(many, lines<Arithmetic>)),
                        static_cast<unsigned>(ceil_div(few, Config::BM)), static_cast<unsigned>(part.batch));
        kernel<<<grid, Config::kThreads, 0, part.stream>>>(part, arithmetic, few_are_columns);
      });
    });
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

  /// Calls `body` with parts of the launch that have no more of the fewer lines than a grid's second dimension can hold.
  template <class Body>
  static void for_lines(const Launch& launch, bool few_are_columns, Body&& body) {
    const auto for_run = [&](Span lines) {
      body(few_are_columns ? part_of(launch, {{0, launch.batch}, {0, launch.m}, lines})
                           : part_of(launch, {{0, launch.batch}, lines, {0, launch.n}}));
    };
    for_runs(few_are_columns ? launch.n : launch.m, for_run, kMaxBlocks * Config::BM);
  }
};

}  // namespace mpmml::cuda
