// Conversion of CUDA's error codes to Error(kCuda) and Error(kOutOfMemory).
#pragma once
#include <cuda_runtime_api.h>

namespace mpmml::cuda {

/// Throws if `status` isn't success. The message has the call, CUDA's name of the error, and the source location.
/// Sticky errors, which destroy the context, are recorded for lost_context().
void check(cudaError_t status, const char* call, const char* file, int line);

/// Returns the sticky error that made the device unusable in this process; empty while it is usable.
const char* lost_context(int device);

#define MPMML_CUDA(call) ::mpmml::cuda::check((call), #call, __FILE__, __LINE__)

}  // namespace mpmml::cuda
