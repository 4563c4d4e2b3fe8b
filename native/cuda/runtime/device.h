// The devices of this machine: whether they can be used, and their properties (Table 1.2 of the thesis). The first CUDA
// call of a process, and the first on a device, can take hundreds of milliseconds. Functions that may make one say so.
#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cuda/kernels/kernel.h"
#include "cuda/plan/cost.h"

namespace mpmml::cuda {

/// Why `device` can't be used; empty if it can. `architectures` are those of the build, for the message. The first call
/// makes the device's context. What can change is checked again each time: a device may be usable later if its memory
/// is full now, or if another process uses it exclusively.
std::string unusable(int device, const std::string& architectures);

/// How many devices there are; 0 if CUDA can't be used.
int device_count();

/// "13.0", the CUDA version that the driver supports; empty if there is no driver.
std::string driver_version();

/// The name of a device's model, such as "NVIDIA H200", or "CUDA device 0" if CUDA doesn't report it. The first call
/// for a device asks CUDA.
std::string device_name(int device);

/// The name that device_name() has found before; empty if it has found none. Makes no CUDA call.
std::string known_device_name(int device);

/// What the planner needs to know about a usable device. The first call for a device asks CUDA.
DeviceLimits device_limits(int device);

using Property = std::pair<const char*, std::variant<double, std::string>>;

/// One list for each device: its name and the rows of Table 1.2 (sizes in bytes, clocks in MHz).
std::vector<std::vector<Property>> device_properties();

}  // namespace mpmml::cuda
