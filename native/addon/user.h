// Semirings of one's own, which JavaScript holds as externals.
#pragma once
#include <napi.h>

#include <memory>

#include "core/user/semiring.h"

namespace mpmml::addon {

/// Throws Napi::Error if `value` is none.
std::shared_ptr<const UserSemiring> user_semiring_of(const Napi::Value& value);

}  // namespace mpmml::addon
