// Closures of matrices that are sharded over multiple devices.
#pragma once
#include "core/closure/closure.h"
#include "core/devices/sharded_memory.h"

namespace mpmml {

/// Implements start_closure() for the session that consists of these devices. Each device closes its matrices of a
/// batch, or all devices together close one matrix that is sharded by rows.
StartedClosure start_closure(PeerTransfers& peers, const Closure& closure, const Placement& where);

}  // namespace mpmml
