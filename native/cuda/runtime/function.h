// The __global__ functions of kernels: what has to be set before they are launched, and how many of their blocks fit.
#pragma once
#include "cuda/kernels/kernel.h"

namespace mpmml::cuda {

/// Lets the current device launch `function` with so many bytes of dynamic shared memory. Done once for each; a GPU without
/// so much is an Error(kCuda).
void allow_shared_bytes(const void* function, int bytes);

/// Blocks of the kernel that runs `path` which fit a multiprocessor of `device` at a time; 0 if none does, for want of
/// shared memory or registers. Makes the device current. Asked for once.
int resident_blocks(const Kernel& kernel, RangePath path, int device);

}  // namespace mpmml::cuda
