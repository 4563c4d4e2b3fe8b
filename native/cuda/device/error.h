// CUDA's error codes as Error(kCuda) and Error(kOutOfMemory).
#pragma once
#include <cuda_runtime_api.h>

namespace mpmml::cuda {

/// Throws if `status` isn't success. The message has the call, CUDA's name for the error and the place. An error that
/// destroys the context is remembered: see lost_context().
void check(cudaError_t status, const char* call, const char* file, int line);

/// The error that made CUDA unusable on this device in this process; empty while it is usable.
const char* lost_context(int device);

#define MPMML_CUDA(call) ::mpmml::cuda::check((call), #call, __FILE__, __LINE__)

}  // namespace mpmml::cuda
