// Attributes and occupancy of the kernels' __global__ functions.
#pragma once
#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

/// Allows launches of `function` on the current device with up to `bytes` bytes of dynamic shared memory. Makes a CUDA
/// call only if the limit increases. Throws Error(kCuda) if the GPU has less.
void allow_shared_bytes(const void* function, int bytes);

/// Returns the number of resident blocks per multiprocessor of `device` for the kernel that runs `path`; 0 if shared
/// memory or registers don't suffice. Makes the device current. The result is cached.
int resident_blocks(const Kernel& kernel, ArithmeticKind path, int device);

/// Returns the counterpart of `kernel` that also finds witnesses with the arithmetic `path`; null if none exists, or if
/// no block of it fits `device`. `numbered` is the result of numbers_fit().
const Kernel* witness_kernel(const Kernel& kernel, ArithmeticKind path, bool numbered, int device);

}  // namespace mpmml::cuda
