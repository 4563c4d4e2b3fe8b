// Self-tests of the device features that kernels rely on. The exponent families rely on an undocumented property: the
// exponent of a sum of powers of two on tensor cores is right even if the sum is truncated. A build may also contain
// kernels without code for a GPU's instructions, which are empty then. So the first query for a device computes
// products, with sums at the limits for exponents, and compares them with the definition.
#pragma once
#include <string>

#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

/// The compute capability of Hopper, whose warpgroups compute exponents and count pairs of truth values: 9.0.
constexpr int kHopper = 90;

bool has_ability(int device, DeviceFeature ability);

/// Returns whether the device supports any kernels of the exponent families.
inline bool has_exponents(int device) {
  return has_ability(device, DeviceFeature::kExponents) || has_ability(device, DeviceFeature::kWarpExponents);
}

/// Returns a human-readable result of the exponents' self-test. Never throws.
std::string describe_exponents(int device);

}  // namespace mpmml::cuda
