// Closures of matrices that are spread among several devices.
#pragma once
#include "core/closure/closure.h"
#include "core/devices/sharded_memory.h"

namespace mpmml {

/// start_closure() of the session that consists of these devices: each closes the matrices of a batch that it has, or all
/// of them together close one matrix, of which each has rows.
StartedClosure start_closure(PeerTransfers& peers, const Closure& closure, const Placement& where);

}  // namespace mpmml
