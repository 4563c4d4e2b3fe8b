// Products on multiple devices. Of sharded matrices, each device computes its rows of C, or its batch entries; of host
// matrices, each device computes a region.
#pragma once
#include <memory>
#include <vector>

#include "core/devices/sharded_memory.h"
#include "core/user/product.h"

namespace mpmml {

/// Implements Session::multiply() for `whole`, the session that consists of these devices.
std::unique_ptr<Pending> multiply(PeerTransfers& peers, Session& whole, Problems problems, const Placement& where);

/// Implements Session::multiply_user() for `whole`, the session that consists of these devices.
std::unique_ptr<Pending> multiply_user(PeerTransfers& peers, Session& whole, const UserProduct& product,
                                       const Placement& where);

/// Computes one product of host matrices, of which each device computes a region. Returns the outcome of each part.
/// Throws Error; then C is as specified for Session::multiply().
std::vector<Outcome> multiply(PeerTransfers& peers, const Problem& problem, const std::vector<Region>& regions,
                              const Placement& where);

/// Returns the plan of the part whose arithmetic the outcome names.
Plan plan(PeerTransfers& peers, const Problem& problem, const Placement& where);

/// Throws Error(kValue) for an invalid element in the band, with its indices in the whole matrix.
void require_elements_of(Session& whole, const Operation& operation, int64_t batch, const MatrixView& view,
                         const Band& band, const char* name);

}  // namespace mpmml
