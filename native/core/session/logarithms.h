// Products over semirings of logarithms in a session (core/user/logarithms.h).
#pragma once
#include <memory>

#include "core/session/session.h"
#include "core/user/product.h"

namespace mpmml {

/// Starts a product as Session::multiply_user() does: as it is, or if it is one of logarithms with many steps, in its parts. Throws
/// Error.
std::unique_ptr<Pending> start_user(Session& session, const UserProduct& product, const Placement& where);

/// The memory that the parts need at the same time as the product's matrices.
int64_t bytes_of_parts(const UserProduct& product);

/// As Session::explain_user().
std::string explain_user(Session& session, const UserProduct& product, const Placement& where);

}  // namespace mpmml
