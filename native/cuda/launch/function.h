// The __global__ functions of kernels: what has to be set before they are launched, and how many of their blocks fit.
#pragma once
#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

/// Lets the current device launch `function` with up to this many bytes of dynamic shared memory. Asks CUDA only for more
/// than before. If the GPU has less, throws Error(kCuda).
void allow_shared_bytes(const void* function, int bytes);

/// Blocks of the kernel that runs `path` that fit a multiprocessor of `device` at a time; 0 if none fits, because
/// shared memory or registers are too few. Makes the device current. CUDA is asked only once.
int resident_blocks(const Kernel& kernel, ArithmeticKind path, int device);

/// The kernel that computes products on `path` as `kernel` would, and finds witnesses on `device`; null if there is none,
/// or no block of it fits. `numbered` says whether numbers_fit().
const Kernel* witness_kernel(const Kernel& kernel, ArithmeticKind path, bool numbered, int device);

}  // namespace mpmml::cuda
