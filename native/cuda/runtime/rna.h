// Folding and interaction of RNA (core/rna/rna.h) on a CUDA device.
#pragma once
#include <vector>

#include "core/rna/rna.h"

namespace mpmml::cuda {

/// As cpu::fold(). `max_device_bytes` limits the device's memory that is used; 0: all that is free. The device is usable.
std::vector<Folding> fold(const FoldRequest& request, int device, int64_t max_device_bytes);

/// As cpu::interact().
Interactions interact(const InteractionRequest& request, int device, int64_t max_device_bytes);

}  // namespace mpmml::cuda
