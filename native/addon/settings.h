// What lib tells: the settings of the CPU backend, which it reads from environment variables, and why it has loaded an
// addon without CUDA. Native code never reads them itself,
// because JavaScript may write the environment while other threads run.
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// configureCpu({ threads, instructionSet, wrong }): only the first call in the process takes effect.
Napi::Value configure_cpu(const Napi::CallbackInfo& info);

/// explainWithoutCuda(reason): only the first call in the process takes effect. It has to come right after loading.
Napi::Value explain_without_cuda(const Napi::CallbackInfo& info);

}  // namespace mpmml::addon
