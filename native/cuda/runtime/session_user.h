// Products over semirings of one's own, of a session's matrices.
#pragma once
#include <memory>
#include <string>

#include "core/session/session.h"
#include "core/user/product.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

/// As Session::multiply_user() says.
std::unique_ptr<Pending> multiply_user(const UserProduct& product, SessionDevice& device);

/// Why a device can't compute it; empty if it can. `limit` is the most of its memory that may be taken; 0: all that is free.
std::string refuses_user_product(const UserProduct& product, int device, int64_t limit);

/// Roughly how long it takes, with host matrices.
double user_product_ms(const UserProduct& product, int device);

/// As Session::explain_user() says.
std::string explain_user(const UserProduct& product, SessionDevice& device);

}  // namespace mpmml::cuda
