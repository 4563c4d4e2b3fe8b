// Matrices to a device and back, filled, and combined element by element.
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// upload, download, fill, combine: lib/native.ts has their types.
void export_copies(Napi::Env env, Napi::Object exports);

}  // namespace mpmml::addon
