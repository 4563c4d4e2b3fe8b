// What the build and the machine are, for variants(), explainBackend() and `mpmml info`.
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// The registry's rows as JavaScript objects.
Napi::Array variants(Napi::Env env);

/// The rows that no kernel can be built for, with the reason.
Napi::Array refused_variants(Napi::Env env);

/// The semirings: the name, and the zero in each element type that the semiring has.
Napi::Array semirings(Napi::Env env);

Napi::Value describe(const Napi::CallbackInfo& info);

/// deviceName(device): the name of a CUDA device that a product has run on; '' before. Makes no CUDA call.
Napi::Value device_name(const Napi::CallbackInfo& info);

/// explain(device): which backend `auto` takes, and why.
Napi::Value explain(const Napi::CallbackInfo& info);

}  // namespace mpmml::addon
