// Arrays in pinned memory, which a GPU can copy directly.
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// pinnedInt32Array(length): an Int32Array of zeros in pinned memory; null if CUDA can't be used.
Napi::Value pinned_int32_array(const Napi::CallbackInfo& info);

}  // namespace mpmml::addon
