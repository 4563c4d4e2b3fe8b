#include "cuda/runtime/error.h"

#include <atomic>
#include <cstring>
#include <string>

#include "core/status.h"

namespace mpmml::cuda {
namespace {

std::atomic<const char*> lost{nullptr};

}  // namespace

const char* lost_context() {
  const char* name = lost.load();
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
    lost.store(cudaGetErrorName(status));
    throw Error(ErrorCode::kCuda, message + "; CUDA can't be used again until the process is restarted");
  }
  throw Error(ErrorCode::kCuda, message);
}

}  // namespace mpmml::cuda
