// The devices of this machine: whether they can be used, and their properties (Table 1.2 of the thesis). The first CUDA
// call of a process, and the first on a device, can take hundreds of milliseconds. Functions that may make one say so.
#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace mpmml::cuda {

/// Why `device` can't be used; empty if it can. `function` is any __global__ function of the build, and `architectures` are
/// those that it has code for, for the message. The first call makes the device's context. What can change is checked again
/// each time: a device may be usable later if its memory is full now, or if another process uses it exclusively.
std::string unusable(int device, const void* function, const std::string& architectures);

/// How many devices there are; 0 if CUDA can't be used.
int device_count();

/// "13.0", the CUDA version that the driver supports; empty if there is no driver.
std::string driver_version();

/// The name of a device's model, such as "NVIDIA H200", or "CUDA device 0" if CUDA doesn't report it. The first call
/// for a device asks CUDA.
std::string device_name(int device);

/// The name that device_name() has found before; empty if it has found none. Makes no CUDA call.
std::string known_device_name(int device);

/// What estimates of time need to know about a device.
struct DeviceLimits {
  int capability;  ///< 90 is compute capability 9.0
  int multiprocessors;
  int shared_bytes_per_block;  ///< with the opt-in
  double bytes_per_clock;      ///< of device memory
  double bytes_per_ms;         ///< the same at the highest clock
};

/// DeviceLimits::bytes_per_clock and bytes_per_ms, from clocks in kHz and the width of the memory bus in bits. What a device
/// doesn't report, as 0, is taken to be like an H200's.
struct MemoryRates {
  double bytes_per_clock, bytes_per_ms;
};
constexpr MemoryRates memory_rates(int clock, int memory_clock, int bus_bits, int multiprocessors) {
  constexpr double kClock = 1980000, kBytesPerClockAndMultiprocessor = 19;
  const double clocks_per_ms = clock > 0 ? clock : kClock;
  // Two transfers per clock of the memory.
  const double bytes_per_ms = 2.0 * memory_clock * bus_bits / 8;
  const double bytes_per_clock =
      bytes_per_ms > 0 ? bytes_per_ms / clocks_per_ms : kBytesPerClockAndMultiprocessor * multiprocessors;
  return {bytes_per_clock, bytes_per_clock * clocks_per_ms};
}

/// Those of a usable device. The first call for a device asks CUDA.
DeviceLimits device_limits(int device);

using Property = std::pair<const char*, std::variant<double, std::string>>;

/// One list for each device: its name and the rows of Table 1.2 (sizes in bytes, clocks in MHz).
std::vector<std::vector<Property>> device_properties();

}  // namespace mpmml::cuda
