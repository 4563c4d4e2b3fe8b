// One product on one device, from host matrices to host matrix.
//
// A large product is divided into panels of rows (or of instances). While one is computed, the next is uploaded and
// results of earlier ones are downloaded. Each panel takes the path that its own values allow, so that computing can
// begin before all of A has been read. Results are downloaded once it is certain that no overflow discards them.
#pragma once
#include "core/backend.h"
#include "cuda/runtime/launcher.h"

namespace mpmml::cuda {

/// Bytes of the operands, stored one after the other on the device.
int64_t operand_bytes(const Problem& problem);

/// Whether the operands fit one pinned slot, and the result another.
bool fits_slots(const Problem& problem);

/// `whole` is the product of which `problem` is a block, or itself: what plans are made for. `scans_lines`: whether the lines of the operands are looked at (levels.h), if their ranges don't decide.
Outcome multiply_on_device(const Problem& problem, const Problem& whole, const Placement& where, const Planner& planner,
                           bool scans_lines);

}  // namespace mpmml::cuda
