// Products over semirings of one's own, of matrices that are spread among devices: each computes the rows of C, or the instances,
// that it has.
#pragma once
#include <memory>

#include "core/devices/sharded_memory.h"
#include "core/user/product.h"

namespace mpmml {

/// Session::multiply_user() of `whole`, the session that consists of these devices.
std::unique_ptr<Pending> multiply_user(PeerTransfers& peers, Session& whole, const UserProduct& product,
                                       const Placement& where);

}  // namespace mpmml
