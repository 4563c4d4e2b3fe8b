// The choices of variants that were measured on GPUs, for the planner.
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// (gpu, choices): replaces the planner's choices for the GPUs with this model name. Makes no CUDA call. A choice is an
/// object with the indices `variant` and `path`, and the sizes m, n, k and batch.
Napi::Value set_measured_choices(const Napi::CallbackInfo& info);

}  // namespace mpmml::addon
