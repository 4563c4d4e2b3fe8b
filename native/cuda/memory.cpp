#include "cuda/memory.h"

#include <map>
#include <mutex>
#include <vector>

#include "cuda/error.h"

namespace mpmml::cuda {
namespace {

// What the pool keeps for the next call when nothing is in use; the rest goes back to the driver.
constexpr uint64_t kKeptBytes = uint64_t{2} << 30;

/// The library's own pool on `device`; null where the device has none (before Pascal).
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

std::mutex lanes_mutex;

/// Idle lanes by device; never destroyed, because CUDA may be gone when static objects are.
std::map<int, std::vector<std::unique_ptr<Lane>>>& idle_lanes() {
  static auto* const lanes = new std::map<int, std::vector<std::unique_ptr<Lane>>>;
  return *lanes;
}

}  // namespace

DeviceBuffer::DeviceBuffer(int64_t bytes, int device, cudaStream_t stream) : stream_(stream) {
  const cudaMemPool_t pool = pool_of(device);
  pooled_ = pool != nullptr;
  const auto size = static_cast<size_t>(bytes > 0 ? bytes : 1);
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

Lane::Lane(int device) : device_(device) {
  MPMML_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  for (cudaEvent_t& event : marks_) MPMML_CUDA(cudaEventCreate(&event));
  MPMML_CUDA(cudaMallocHost(&results_, kResultBytes));
}

Lane::~Lane() {
  for (cudaEvent_t event : marks_) {
    if (event) cudaEventDestroy(event);
  }
  if (results_) cudaFreeHost(results_);
  if (stream_) cudaStreamDestroy(stream_);
}

void Lane::mark(int mark) { MPMML_CUDA(cudaEventRecord(marks_[mark], stream_)); }

double Lane::elapsed(int from, int to) const {
  float milliseconds = 0;
  MPMML_CUDA(cudaEventElapsedTime(&milliseconds, marks_[from], marks_[to]));
  return milliseconds;
}

void Lane::synchronize() { MPMML_CUDA(cudaStreamSynchronize(stream_)); }

void LaneReturn::operator()(Lane* lane) const {
  // After an error work may still be queued that uses the caller's memory.
  const bool healthy = cudaStreamSynchronize(lane->stream()) == cudaSuccess;
  std::unique_ptr<Lane> owned(lane);
  if (!healthy) return;
  const std::lock_guard<std::mutex> lock(lanes_mutex);
  idle_lanes()[lane->device()].push_back(std::move(owned));
}

LaneHandle take_lane(int device) {
  MPMML_CUDA(cudaSetDevice(device));
  {
    const std::lock_guard<std::mutex> lock(lanes_mutex);
    auto& idle = idle_lanes()[device];
    if (!idle.empty()) {
      LaneHandle lane(idle.back().release());
      idle.pop_back();
      return lane;
    }
  }
  return LaneHandle(std::make_unique<Lane>(device).release());
}

int64_t available_bytes(int device) {
  MPMML_CUDA(cudaSetDevice(device));
  size_t free = 0, total = 0;
  MPMML_CUDA(cudaMemGetInfo(&free, &total));
  uint64_t reserved = 0, used = 0;
  if (const cudaMemPool_t pool = pool_of(device)) {
    MPMML_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    MPMML_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  }
  return static_cast<int64_t>(free + (reserved - used));
}

}  // namespace mpmml::cuda
