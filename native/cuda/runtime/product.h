// One product from host matrices to a host matrix, on a session's streams.
//
// A large product is divided into panels of rows (or of instances). While one is computed, the next is uploaded and
// results of earlier ones are downloaded. Each panel takes the path that its own values allow, so that computing can
// begin before all of A has been read. Results are downloaded once it is certain that no overflow discards them.
#pragma once
#include <memory>

#include "cuda/plan/planner.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

/// Returns whether one thread copies the operands, which fit a slot, and the result (kFewBytes).
bool has_few_bytes(const Problem& problem);

/// Whether the lines of the operands are looked at (levels.h), if their ranges don't decide.
bool scans_lines(const Problem& problem, const Placement& where, Planner& planner);

/// Starts a product; finish() of the result writes C, which is unchanged before, and further results. `whole` is the product
/// of which `problem` is a block, or itself: what plans are made for. Both must stay. Throws Error, as Session::multiply() does.
std::unique_ptr<Pending> stream_product(const Problem& problem, const Problem& whole, const Placement& where,
                                        Planner& planner, SessionDevice& device);

}  // namespace mpmml::cuda
