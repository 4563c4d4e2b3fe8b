// Custom semirings, which JavaScript holds as externals.
#pragma once
#include <napi.h>

#include <memory>

#include "core/user/semiring.h"

namespace mpmml::addon {

/// Returns the semiring of `value`. Throws Napi::Error if `value` isn't a custom semiring.
std::shared_ptr<const UserSemiring> user_semiring_of(const Napi::Value& value);

}  // namespace mpmml::addon
