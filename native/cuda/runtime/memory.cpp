#include "cuda/runtime/memory.h"

#include <cstring>
#include <map>
#include <mutex>

#include "core/fault.h"
#include "cuda/runtime/error.h"

namespace mpmml::cuda {
namespace {

// What the pool keeps for the next call when nothing is in use. The rest goes back to the driver.
constexpr uint64_t kKeptBytes = uint64_t{2} << 30;

/// The library's own pool on `device`; null if the device has none (before Pascal).
cudaMemPool_t pool_of(int device) {
  static std::mutex mutex;
  static std::map<int, cudaMemPool_t> pools;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = pools.find(device);
  if (known != pools.end()) return known->second;
  int supported = 0;
  MPMML_CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device));
  cudaMemPool_t pool = nullptr;
  if (supported) {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    MPMML_CUDA(cudaMemPoolCreate(&pool, &properties));
    uint64_t kept = kKeptBytes;
    MPMML_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
  }
  return pools[device] = pool;
}

}  // namespace

DeviceBuffer::DeviceBuffer(int64_t bytes, int device, cudaStream_t stream) : stream_(stream) {
  const cudaMemPool_t pool = pool_of(device);
  pooled_ = pool != nullptr;
  const auto size = static_cast<size_t>(bytes > 0 ? bytes : 1);
  before_allocation();
  if (pooled_) {
    MPMML_CUDA(cudaMallocFromPoolAsync(&data_, size, pool, stream));
  } else {
    MPMML_CUDA(cudaMalloc(&data_, size));
  }
}

DeviceBuffer::~DeviceBuffer() {
  if (!data_) return;
  if (pooled_) {
    cudaFreeAsync(data_, stream_);
  } else {
    cudaFree(data_);
  }
}

bool open_pool_to(int owner, int reader) {
  const cudaMemPool_t pool = pool_of(owner);
  if (!pool) return false;
  cudaMemAccessDesc access = {};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = reader;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  MPMML_CUDA(cudaMemPoolSetAccess(pool, &access, 1));
  return true;
}

void* allocate_pinned(int64_t bytes) {
  void* memory = nullptr;
  before_allocation();
  MPMML_CUDA(cudaHostAlloc(&memory, static_cast<size_t>(bytes), cudaHostAllocPortable));
  std::memset(memory, 0, static_cast<size_t>(bytes));
  return memory;
}

void free_pinned(void* memory) { cudaFreeHost(memory); }

DeviceMemory device_memory(int device) {
  MPMML_CUDA(cudaSetDevice(device));
  size_t free = 0, total = 0;
  MPMML_CUDA(cudaMemGetInfo(&free, &total));
  uint64_t reserved = 0;
  if (const cudaMemPool_t pool = pool_of(device)) {
    MPMML_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  }
  return {static_cast<int64_t>(free), static_cast<int64_t>(reserved), static_cast<int64_t>(total)};
}

}  // namespace mpmml::cuda
