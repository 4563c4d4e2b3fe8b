// Arrays in pinned memory, which a device copies without a detour.
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// pinnedInt32Array(length): an Int32Array of zeros in pinned memory; null where CUDA can't be used.
Napi::Value pinned_int32_array(const Napi::CallbackInfo& info);

}  // namespace mpmml::addon
