// What families whose kernels read operands in place share.
#pragma once
#include "cuda/device/error.h"
#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

/// Base of such a family. `TileOf` has
///   entry<Arithmetic>()       the __global__ function, or one of those between which queue() chooses;
///   queue(launch, arithmetic) queues the kernels of a launch.
template <class TileOf>
struct DirectFamily {
 protected:
  template <class... Arithmetics>
  static constexpr Kernel direct_kernel(const KernelShape& shape) {
    Kernel kernel{};
    kernel.paths = paths_of<Arithmetics...>();
    kernel.launch = &launch<Arithmetics...>;
    kernel.function = &function<Arithmetics...>;
    kernel.shape = shape;
    return kernel;
  }

 private:
  template <class... Arithmetics>
  static void launch(const Launch& launch) {
    for_arithmetic<Arithmetics...>(launch, [&](const auto& arithmetic) { TileOf::queue(launch, arithmetic); });
    MPMML_CUDA(cudaGetLastError());
  }

  template <class... Arithmetics>
  static const void* function(ArithmeticKind path) {
    const void* found = nullptr;
    for_arithmetic<Arithmetics...>(path, {}, {}, [&](const auto& arithmetic) {
      found = reinterpret_cast<const void*>(TileOf::template entry<std::decay_t<decltype(arithmetic)>>());
    });
    return found;
  }
};

}  // namespace mpmml::cuda
