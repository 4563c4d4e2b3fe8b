// The settings of the CPU backend, which lib reads from environment variables. Native code never reads them itself,
// because JavaScript may write the environment while other threads run.
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// configureCpu({ threads, instructionSet, wrong }): only the first call in the process takes effect.
Napi::Value configure_cpu(const Napi::CallbackInfo& info);

}  // namespace mpmml::addon
