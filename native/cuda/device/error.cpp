#include "cuda/device/error.h"

#include <atomic>
#include <cstring>
#include <string>

#include "core/status.h"

namespace mpmml::cuda {
namespace {

constexpr int kMaxKnown = 64;
/// By device: an error that lasts destroys the context of one device.
std::atomic<const char*> lost[kMaxKnown];

std::atomic<const char*>& lost_of(int device) { return lost[device >= 0 && device < kMaxKnown ? device : 0]; }

}  // namespace

const char* lost_context(int device) {
  const char* name = lost_of(device).load();
  return name ? name : "";
}

void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  const char* slash = std::strrchr(file, '/');
  const std::string message = std::string(call) + " failed with " + cudaGetErrorName(status) + " (" +
                              cudaGetErrorString(status) + ") at " + (slash ? slash + 1 : file) + ":" +
                              std::to_string(line);
  cudaGetLastError();
  if (status == cudaErrorMemoryAllocation) throw Error(ErrorCode::kOutOfMemory, message);
  // After a sticky error every later call fails with it. CUDA has no other way to distinguish it from an error that has
  // passed.
  if (cudaFree(nullptr) != cudaSuccess) {
    int device = 0;
    cudaGetDevice(&device);
    lost_of(device).store(cudaGetErrorName(status));
    throw Error(ErrorCode::kCuda, message + "; CUDA can't be used again on device " + std::to_string(device) +
                                      " until the process is restarted");
  }
  throw Error(ErrorCode::kCuda, message);
}

}  // namespace mpmml::cuda
