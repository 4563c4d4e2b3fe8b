// Whether a device's tensor cores sum as the families on exponents need it.
#pragma once
#include <string>

namespace mpmml::cuda {

/// Whether the kernels of the exponent family, or those of the warp-exponent family, compute exactly on this device. They
/// rely on what no document promises: that the exponent of a sum of powers of two on tensor cores is right even if the sum
/// is truncated. So the first question computes products whose sums are at the limits, and compares them with the
/// definition.
bool computes_exponents(int device);
bool computes_warp_exponents(int device);

/// Whether any of them do.
inline bool has_exponents(int device) { return computes_exponents(device) || computes_warp_exponents(device); }

/// What came of that, for people. Never throws.
std::string describe_exponents(int device);

}  // namespace mpmml::cuda
