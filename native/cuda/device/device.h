// Devices of this machine: usability and properties (Table 1.2 of the thesis). The first CUDA call of a process, and
// the first on a device, can take hundreds of milliseconds. Functions that may make such a call document it.
#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace mpmml::cuda {

/// Returns the reason why `device` is unusable; empty if it is usable. `function` is any __global__ function of the
/// build, and `architectures` are the build's architectures, for the message. The first call creates the device's
/// context. Transient reasons are checked again on each call: the memory may be full, or another process may use the
/// device exclusively.
std::string unusable(int device, const void* function, const std::string& architectures);

/// Returns the number of devices; 0 if CUDA is unusable.
int device_count();

/// Returns the CUDA version that the driver supports, such as "13.0"; empty without a driver.
std::string driver_version();

/// Returns the name of a device's model, such as "NVIDIA H200", or "CUDA device 0" if CUDA doesn't report it. The first
/// call for a device makes a CUDA call.
std::string device_name(int device);

/// Returns the cached name from device_name(); empty if not cached. Makes no CUDA call.
std::string known_device_name(int device);

/// Properties of a device for the cost model.
struct DeviceLimits {
  int capability;  ///< 90 is compute capability 9.0
  int multiprocessors;
  int shared_bytes_per_block;  ///< with the opt-in
  double bytes_per_clock;      ///< bandwidth of device memory
  double bytes_per_ms;         ///< bandwidth at the highest memory clock
};

/// DeviceLimits::bytes_per_clock and bytes_per_ms, from clocks in kHz and the width of the memory bus in bits. Values
/// that a device reports as 0 are replaced by those of an H200.
struct MemoryRates {
  double bytes_per_clock, bytes_per_ms;
};
constexpr MemoryRates memory_rates(int clock, int memory_clock, int bus_bits, int multiprocessors) {
  constexpr double kClock = 1980000, kBytesPerClockAndMultiprocessor = 19;
  const double clocks_per_ms = clock > 0 ? clock : kClock;
  // Double data rate: two transfers per memory clock.
  const double bytes_per_ms = 2.0 * memory_clock * bus_bits / 8;
  const double bytes_per_clock =
      bytes_per_ms > 0 ? bytes_per_ms / clocks_per_ms : kBytesPerClockAndMultiprocessor * multiprocessors;
  return {bytes_per_clock, bytes_per_clock * clocks_per_ms};
}

/// Returns the limits of a usable device. The first call for a device makes CUDA calls.
DeviceLimits device_limits(int device);

using Property = std::pair<const char*, std::variant<double, std::string>>;

/// Returns a list for each device: its name and the rows of Table 1.2 (sizes in bytes, clocks in MHz).
std::vector<std::vector<Property>> device_properties();

}  // namespace mpmml::cuda
