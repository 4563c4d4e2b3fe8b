// Products over custom semirings, of a session's matrices.
#pragma once
#include <memory>
#include <string>

#include "core/session/session.h"
#include "core/user/product.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

/// Implements Session::multiply_user().
std::unique_ptr<Pending> multiply_user(const UserProduct& product, SessionDevice& device);

/// Implements Session::reserve_for_user().
std::unique_ptr<Share> reserve_for_user(const UserProduct& product, SessionDevice& device);

/// Returns the reason why a device can't compute the product, apart from its memory; empty if it can.
std::string refuses_user_product(const UserProduct& product, int device);

/// Returns an estimate of the duration in milliseconds, with host matrices.
double user_product_ms(const UserProduct& product, int device);

/// Implements Session::explain_user().
std::string explain_user(const UserProduct& product, SessionDevice& device);

}  // namespace mpmml::cuda
