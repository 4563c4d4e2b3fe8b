// Products on several devices: of matrices that are spread among them, each computes the rows of C, or the instances, that it
// has; of host matrices each computes a region.
#pragma once
#include <memory>
#include <vector>

#include "core/devices/sharded_memory.h"

namespace mpmml {

/// Session::multiply() of `whole`, the session that consists of these devices.
std::unique_ptr<Pending> multiply(PeerTransfers& peers, Session& whole, Problems problems, const Placement& where);

/// One product of host matrices, of which each device computes a region. Returns what became of each part. Throws Error: C
/// is as Session::multiply() leaves it.
std::vector<Outcome> multiply(PeerTransfers& peers, const Problem& problem, const std::vector<Region>& regions,
                              const Placement& where);

/// The plan of the part whose path the outcome names.
Plan plan(PeerTransfers& peers, const Problem& problem, const Placement& where);

/// Throws Error(kValue) as a session does for the whole matrix, of which only the elements in the band belong to it.
void require_elements_of(Session& whole, const Operation& operation, int64_t batch, const MatrixView& view,
                         const Band& band, const char* name);

}  // namespace mpmml
