// Products over semirings of logarithms in a session (core/user/logarithms.h).
#pragma once
#include <memory>

#include "core/session/session.h"
#include "core/user/product.h"

namespace mpmml {

/// Starts a product like Session::multiply_user(). A product of logarithms with many steps is computed in stages
/// (core/user/logarithms.h), other products directly. Throws Error.
std::unique_ptr<Pending> start_user(Session& session, const UserProduct& product, const Placement& where);

/// Returns the memory in bytes that the stages need in addition to the product's matrices.
int64_t bytes_of_parts(const UserProduct& product);

/// Returns a description of the computation, like Session::explain_user().
std::string explain_user(Session& session, const UserProduct& product, const Placement& where);

}  // namespace mpmml
