#include "cuda/device/device.h"

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>

#include "cuda/device/error.h"

namespace mpmml::cuda {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Reason why a device is unusable.
struct Reason {
  std::string text;  ///< empty if the device is usable
  bool lasting;      ///< whether the reason persists until the process ends
};

/// Returns the number of devices, and the reason if it is 0.
int count_devices(Reason& reason) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return count;
  cudaGetLastError();
  const std::string driver = driver_version();
  if (driver.empty()) {
    reason = {"no NVIDIA driver was found on this machine", true};
  } else if (status == cudaErrorInsufficientDriver) {
    reason = {"the NVIDIA driver is too old: it supports CUDA " + driver + ", this build needs " +
                  version_text(CUDART_VERSION) + "; update the driver, or rebuild with a CUDA toolkit that it supports",
              true};
  } else if (status == cudaErrorNoDevice || status == cudaSuccess) {
    reason = {"the NVIDIA driver finds no CUDA device (CUDA_VISIBLE_DEVICES may hide them)", true};
  } else {
    reason = {std::string("cudaGetDeviceCount failed with ") + cudaGetErrorName(status) + " (" +
                  cudaGetErrorString(status) + ")",
              false};
  }
  return 0;
}

Reason find_reason(int device, const void* function, const std::string& architectures) {
  Reason reason;
  const int count = count_devices(reason);
  if (count == 0) return reason;
  if (device < 0 || device >= count) {
    return {"there is no CUDA device " + std::to_string(device) + ": this machine has " + std::to_string(count) +
                ", numbered from 0",
            true};
  }
  cudaFuncAttributes attributes;
  cudaError_t status = cudaSetDevice(device);
  if (status == cudaSuccess) status = cudaFuncGetAttributes(&attributes, function);
  if (status == cudaSuccess) return {{}, true};
  cudaGetLastError();
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction ||
      status == cudaErrorUnsupportedPtxVersion) {
    int major = 0, minor = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    const std::string arch = std::to_string(major) + std::to_string(minor);
    return {"this build has no code for the architecture sm_" + arch + " of device " + std::to_string(device) +
                " (it has " + architectures + "): build it from source with MPMML_CUDA_ARCHS=" + arch +
                " and a CUDA toolkit that knows it (docs/building.md)",
            true};
  }
  return {"device " + std::to_string(device) + " can't be used: " + cudaGetErrorName(status) + " (" +
              cudaGetErrorString(status) + ")",
          false};
}

std::mutex names_mutex;

/// Names of devices by their indices. Never destroyed, because worker threads may outlive static objects.
std::map<int, std::string>& names() {
  static auto* const names = new std::map<int, std::string>;
  return *names;
}

}  // namespace

std::string unusable(int device, const void* function, const std::string& architectures) {
  const std::string lost = lost_context(device);
  if (!lost.empty())
    return "an earlier CUDA error, " + lost + ", made CUDA unusable on device " + std::to_string(device) +
           ": restart the process";
  static std::mutex mutex;
  static auto* const lasting = new std::map<int, std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = lasting->find(device);
  if (known != lasting->end()) return known->second;
  const Reason reason = find_reason(device, function, architectures);
  if (reason.lasting) (*lasting)[device] = reason.text;
  return reason.text;
}

std::string known_device_name(int device) {
  const std::lock_guard<std::mutex> lock(names_mutex);
  const auto found = names().find(device);
  return found == names().end() ? "" : found->second;
}

std::string device_name(int device) {
  const std::string known = known_device_name(device);
  if (!known.empty()) return known;
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
    cudaGetLastError();
    return "CUDA device " + std::to_string(device);
  }
  const std::lock_guard<std::mutex> lock(names_mutex);
  return names()[device] = properties.name;
}

// A virtual GPU may report 0 for any of these.
static_assert(memory_rates(0, 0, 0, 132).bytes_per_clock > 0 && memory_rates(0, 0, 0, 132).bytes_per_ms > 0);
static_assert(memory_rates(0, 3201000, 6144, 132).bytes_per_clock > 0);
static_assert(memory_rates(1980000, 0, 6144, 132).bytes_per_ms > 0);

DeviceLimits device_limits(int device) {
  static std::mutex mutex;
  static auto* const known = new std::map<int, DeviceLimits>;  // never destroyed, like names()
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known->find(device);
  if (found != known->end()) return found->second;
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    MPMML_CUDA(cudaDeviceGetAttribute(&value, which, device));
    return value;
  };
  DeviceLimits limits;
  limits.capability = attribute(cudaDevAttrComputeCapabilityMajor) * 10 + attribute(cudaDevAttrComputeCapabilityMinor);
  limits.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
  limits.shared_bytes_per_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  const MemoryRates rates = memory_rates(attribute(cudaDevAttrClockRate), attribute(cudaDevAttrMemoryClockRate),
                                         attribute(cudaDevAttrGlobalMemoryBusWidth), limits.multiprocessors);
  limits.bytes_per_clock = rates.bytes_per_clock;
  limits.bytes_per_ms = rates.bytes_per_ms;
  return (*known)[device] = limits;
}

int device_count() {
  Reason reason;
  return count_devices(reason);
}

std::string driver_version() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) return {};
  return version_text(version);
}

std::vector<std::vector<Property>> device_properties() {
  Reason reason;
  const int count = count_devices(reason);
  std::vector<std::vector<Property>> devices;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp p;
    if (cudaGetDeviceProperties(&p, device) != cudaSuccess) continue;
    const auto attribute = [&](cudaDeviceAttr which) {
      int value = 0;
      cudaDeviceGetAttribute(&value, which, device);
      return static_cast<double>(value);
    };
    const auto number = [](auto value) { return static_cast<double>(value); };
    devices.push_back({
        {"name", std::string(p.name)},
        {"computeCapability", std::to_string(p.major) + "." + std::to_string(p.minor)},
        {"smVersion", "sm_" + std::to_string(p.major) + std::to_string(p.minor)},
        {"globalMemoryBytes", number(p.totalGlobalMem)},
        {"multiprocessors", number(p.multiProcessorCount)},
        {"maxClockMHz", attribute(cudaDevAttrClockRate) / 1000},
        {"memoryClockMHz", attribute(cudaDevAttrMemoryClockRate) / 1000},
        {"memoryBusBits", number(p.memoryBusWidth)},
        {"l2CacheBytes", number(p.l2CacheSize)},
        {"threadsPerWarp", number(p.warpSize)},
        {"warpsPerMultiprocessor", number(p.maxThreadsPerMultiProcessor / p.warpSize)},
        {"threadsPerMultiprocessor", number(p.maxThreadsPerMultiProcessor)},
        {"blocksPerMultiprocessor", number(p.maxBlocksPerMultiProcessor)},
        {"sharedMemoryPerMultiprocessorBytes", number(p.sharedMemPerMultiprocessor)},
        {"sharedMemoryPerBlockBytes", number(p.sharedMemPerBlock)},
        {"sharedMemoryPerBlockOptinBytes", number(p.sharedMemPerBlockOptin)},
        {"registersPerMultiprocessor", number(p.regsPerMultiprocessor)},
        {"registersPerBlock", number(p.regsPerBlock)},
        {"maxThreadsPerBlock", number(p.maxThreadsPerBlock)},
    });
  }
  return devices;
}

}  // namespace mpmml::cuda
