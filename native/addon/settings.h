// What lib read from the environment variables of the CPU backend. Native code reads none: the variables are
// JavaScript's, which may write them while other threads run.
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// configureCpu({ threads, instructionSet, wrong }): takes effect only as the first call in the process.
Napi::Value configure_cpu(const Napi::CallbackInfo& info);

}  // namespace mpmml::addon
