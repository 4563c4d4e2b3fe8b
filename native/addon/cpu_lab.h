// What products on the CPU are measured against (cpu/yardsticks.h), off the event loop. lib/native.ts says what the
// exports take and return.
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// Adds cpuCeiling and cpuNaiveLoop.
void export_cpu_lab(Napi::Env env, Napi::Object exports);

}  // namespace mpmml::addon
