// One product from host matrices to a host matrix, on a session's streams.
//
// A large product is divided into panels of rows (or of batch entries). While one panel is computed, the next is
// uploaded, and results of earlier panels are downloaded. The arithmetic of each panel depends on its own values, so
// that the kernels can begin before all of A has been read. Results are downloaded after the check that no sum
// overflowed.
#pragma once
#include <memory>

#include "cuda/plan/planner.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

/// Returns whether one thread copies the operands, which fit a slot, and the result (kFewBytes).
bool has_few_bytes(const Problem& problem);

/// Returns whether the lines of the operands are scanned (levels.h) if their ranges don't decide the arithmetic.
bool scans_lines(const Problem& problem, const Placement& where, Planner& planner);

/// Starts a product. finish() of the result writes C, which is unchanged before, and the auxiliary outputs. `whole` is
/// the product of which `problem` is a block, or `problem` itself; plans are made for it. Both must outlive the result.
/// Throws the errors of Session::multiply().
std::unique_ptr<Pending> stream_product(const Problem& problem, const Problem& whole, const Placement& where,
                                        Planner& planner, SessionDevice& device);

}  // namespace mpmml::cuda
