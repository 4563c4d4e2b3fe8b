// Host side of the tensor family.
#pragma once
#include "cuda/kernels/tensor.cuh"
#include "cuda/launch/packed.cuh"

namespace mpmml::cuda {

template <int... parameters>
struct Family<Tensor<parameters...>> {
  template <class Arithmetic>
  static constexpr Kernel kernel() {
    return PackedKernel<Tensor<parameters...>>::template kernel<Arithmetic>(kStepsPerClock, 80);
  }

 private:
  static constexpr double kStepsPerClock = 100;  ///< measured on an H200
};

}  // namespace mpmml::cuda
