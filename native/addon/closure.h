// Closures of matrices of a device.
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// closeMatrix and copyMatrix: lib/native.ts has their types.
void export_closure(Napi::Env env, Napi::Object exports);

}  // namespace mpmml::addon
