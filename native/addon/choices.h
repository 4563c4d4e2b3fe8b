// What was measured of the variants on this machine's GPUs, for the planner.
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// (device, choices): replaces what the planner knows of a device. A choice is an object with the indices `variant` and
/// `path`, and the sizes m, n, k and batch.
Napi::Value set_measured_choices(const Napi::CallbackInfo& info);

}  // namespace mpmml::addon
