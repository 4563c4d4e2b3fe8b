// The devices of this machine: whether they can be used, and what they are (Table 1.2 of the thesis).
#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cuda/kernels/kernel.h"
#include "cuda/plan/cost.h"

namespace mpmml::cuda {

/// Why `device` can't be used; empty where it can. `architectures` are those of the build, for the message.
std::string unusable(int device, const std::string& architectures);

/// "13.0", the CUDA version that the driver supports; empty where there is no driver.
std::string driver_version();

/// What the planner needs to know of a usable device. Asked for once.
DeviceLimits device_limits(int device);

using Property = std::pair<const char*, std::variant<double, std::string>>;

/// One list for each device: its name and the rows of Table 1.2 (sizes in bytes, clocks in MHz).
std::vector<std::vector<Property>> device_properties();

}  // namespace mpmml::cuda
