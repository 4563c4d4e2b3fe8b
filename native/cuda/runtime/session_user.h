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

/// As Session::admit_user() says.
std::unique_ptr<Share> admit_user(const UserProduct& product, SessionDevice& device);

/// Why a device can't compute it however much memory it has; empty if it can.
std::string refuses_user_product(const UserProduct& product, int device);

/// Roughly how long it takes, with host matrices.
double user_product_ms(const UserProduct& product, int device);

/// As Session::explain_user() says.
std::string explain_user(const UserProduct& product, SessionDevice& device);

}  // namespace mpmml::cuda
