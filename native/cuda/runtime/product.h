// One product on one device, from host matrices to host matrix.
//
// A large product is cut into panels of rows (or of instances): while one is computed the next is on its way to the
// device, and results of earlier ones on their way back. Each panel takes the path that its own values allow, so that
// computing can begin before all of A has been seen; nothing is written to C before every panel has a plan.
#pragma once
#include "core/backend.h"
#include "cuda/kernels/kernel.h"
#include "cuda/runtime/memory.h"

namespace mpmml::cuda {

/// Chooses the plan of a panel from what occurs in it.
using Planner = std::function<Plan(const ValueRange& a, const ValueRange& b)>;
using KernelLookup = std::function<const Kernel&(const Variant&)>;

/// Bytes of `view` on the device; 0 where it is null.
int64_t dense_bytes(const Problem& problem, const MatrixView& view);

/// Bytes of device memory for the operands, packed and as they are, and the result.
int64_t needed_bytes(const Problem& problem);

/// Whether the product is so small that its operands pass through one pinned slot, and its result through another.
bool fits_slots(const Problem& problem);

Outcome multiply_on_device(const Problem& problem, int device, const Planner& planner, const KernelLookup& kernel_of);

}  // namespace mpmml::cuda
