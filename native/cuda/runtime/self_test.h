// Whether a device has what kernels rely on. The families on exponents rely on what no document promises: that the exponent of a
// sum of powers of two on tensor cores is right even if the sum is truncated. And a build may have kernels without the code for
// a GPU's instructions: they are empty then. So the first question for a device computes products, those of exponents with sums
// at the limits, and compares them with the definition.
#pragma once
#include <string>

#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

/// The compute capability of Hopper, whose warpgroups compute exponents and count pairs of truth values: 9.0.
constexpr int kHopper = 90;

bool has_ability(int device, DeviceFeature ability);

/// Whether any kernels compute exponents.
inline bool has_exponents(int device) {
  return has_ability(device, DeviceFeature::kExponents) || has_ability(device, DeviceFeature::kWarpExponents);
}

/// What came of that, for people. Never throws.
std::string describe_exponents(int device);

}  // namespace mpmml::cuda
