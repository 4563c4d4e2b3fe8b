// One product on one device, from host matrices to host matrix.
//
// A large product is cut into panels of rows (or of instances): while one is computed the next is being uploaded, and
// results of earlier ones are downloaded. Each panel takes the path that its own values allow, so that computing can begin
// before all of A has been seen. Results are downloaded when all are known to stand.
#pragma once
#include "core/backend.h"
#include "cuda/runtime/launcher.h"

namespace mpmml::cuda {

/// Bytes of the operands side by side on the device.
int64_t operand_bytes(const Problem& problem);

/// Whether operands and result pass through one pinned slot each.
bool fits_slots(const Problem& problem);

Outcome multiply_on_device(const Problem& problem, int device, const Planner& planner);

}  // namespace mpmml::cuda
