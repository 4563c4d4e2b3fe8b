// Products over custom semirings of sharded matrices: each device computes its rows of C, or its batch entries.
#pragma once
#include <memory>

#include "core/devices/sharded_memory.h"
#include "core/user/product.h"

namespace mpmml {

/// Implements Session::multiply_user() for `whole`, the session that consists of these devices.
std::unique_ptr<Pending> multiply_user(PeerTransfers& peers, Session& whole, const UserProduct& product,
                                       const Placement& where);

}  // namespace mpmml
