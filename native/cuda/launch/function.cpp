#include "cuda/launch/function.h"

#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "cuda/device/device.h"
#include "cuda/device/error.h"

namespace mpmml::cuda {
namespace {

/// Bytes of shared memory that a block can use on every GPU without opt-in.
constexpr int kSharedBytesByDefault = 48 << 10;

std::mutex mutex;

}  // namespace

void allow_shared_bytes(const void* function, int bytes) {
  if (bytes <= kSharedBytesByDefault) return;
  int device = 0;
  MPMML_CUDA(cudaGetDevice(&device));
  // A function may be launched with a different size later, because the caller sets the size for laboratory kernels.
  static auto& allowed = *new std::map<std::pair<const void*, int>, int>;
  const std::lock_guard<std::mutex> lock(mutex);
  int& most = allowed[{function, device}];
  if (bytes <= most) return;
  MPMML_CUDA(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  // Maximizes the shared memory carveout, so that as many blocks as possible are resident: these kernels don't use the
  // L1 cache.
  MPMML_CUDA(
      cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  most = bytes;
}

int resident_blocks(const Kernel& kernel, ArithmeticKind path, int device) {
  const int bytes = kernel.shape.shared_bytes;
  if (bytes > device_limits(device).shared_bytes_per_block) return 0;
  static auto& known = *new std::map<std::tuple<const void*, int, int, int>, int>;
  const void* function = kernel.function(path);
  const std::tuple key{function, kernel.shape.threads, bytes, device};
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
  }
  MPMML_CUDA(cudaSetDevice(device));
  allow_shared_bytes(function, bytes);
  int blocks = 0;
  MPMML_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, kernel.shape.threads, bytes));
  const std::lock_guard<std::mutex> lock(mutex);
  return known[key] = blocks;
}

const Kernel* witness_kernel(const Kernel& kernel, ArithmeticKind path, bool numbered, int device) {
  const auto runs = [&](const Kernel* found) {
    return found && found->paths.has(path) && resident_blocks(*found, path, device) > 0;
  };
  if (numbered && runs(kernel.numbered)) return kernel.numbered;
  return runs(kernel.in_chunks) ? kernel.in_chunks : nullptr;
}

}  // namespace mpmml::cuda
