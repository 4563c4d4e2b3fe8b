// multiply and multiplySync: one product, off the event loop or on the calling thread.
#pragma once
#include <napi.h>

namespace mpmml::addon {

Napi::Value multiply(const Napi::CallbackInfo& info);
Napi::Value multiply_sync(const Napi::CallbackInfo& info);

}  // namespace mpmml::addon
