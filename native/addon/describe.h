// Describes the build and the machine, for variants(), explainBackend() and `mpmml info`.
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// The registry's rows as JavaScript objects.
Napi::Array variants(Napi::Env env);

/// The rows that no kernel can be built for, with the reason.
Napi::Array refused_variants(Napi::Env env);

/// The semirings: the name, and the zero in each of the semiring's element types.
Napi::Array semirings(Napi::Env env);

Napi::Value describe(const Napi::CallbackInfo& info);

/// tensorCores(device): whether a CUDA device computes exponents on its tensor cores, in words. The first call checks it.
Napi::Value tensor_cores(const Napi::CallbackInfo& info);

/// deviceName(device): the name of a CUDA device if a product has run on it, otherwise ''. Makes no CUDA call.
Napi::Value device_name(const Napi::CallbackInfo& info);

/// explain(device): which backend `auto` takes, and why.
Napi::Value explain(const Napi::CallbackInfo& info);

}  // namespace mpmml::addon
