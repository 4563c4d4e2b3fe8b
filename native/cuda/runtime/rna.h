// Folding and interaction of RNA (core/rna/rna.h) on a CUDA device.
#pragma once
#include <vector>

#include "core/rna/rna.h"

namespace mpmml::cuda {

/// Folds strands like cpu::fold(), on a GPU. `max_device_bytes` limits the device memory; 0: all free memory. The
/// device must be usable.
std::vector<Folding> fold(const FoldRequest& request, int device, int64_t max_device_bytes);

/// Computes an interaction like cpu::interact(), on a GPU.
Interactions interact(const InteractionRequest& request, int device, int64_t max_device_bytes);

}  // namespace mpmml::cuda
