// Products: off the event loop or on the calling thread, one or a group of them, on the host or on a device that has
// been opened.
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// multiply, multiplySync, multiplyGroup: lib/native.ts has their types.
void export_multiply(Napi::Env env, Napi::Object exports);

}  // namespace mpmml::addon
