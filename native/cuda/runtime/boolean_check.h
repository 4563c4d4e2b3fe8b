// Whether a device has the tensor cores, and the build the code, for the boolean family.
#pragma once

namespace mpmml::cuda {

/// The compute capability whose instructions the kernels of the boolean family are made of: 9.0.
constexpr int kPairsCapability = 90;

/// Whether the kernels of the boolean family compute right on this device. A build can have them without the code for
/// Hopper's instructions: they are empty then. So the first question computes a product and compares it with the
/// definition.
bool counts_pairs(int device);

}  // namespace mpmml::cuda
