#include "cuda/runtime/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "cuda/runtime/error.h"

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

Event::Event(bool sleeps) {
  MPMML_CUDA(cudaEventCreateWithFlags(&event_, sleeps ? cudaEventBlockingSync : cudaEventDefault));
}
Event::~Event() {
  if (event_) cudaEventDestroy(event_);
}
void Event::record(cudaStream_t stream) { MPMML_CUDA(cudaEventRecord(event_, stream)); }
void Event::wait() const { MPMML_CUDA(cudaEventSynchronize(event_)); }
void Event::hold(cudaStream_t stream) const { MPMML_CUDA(cudaStreamWaitEvent(stream, event_, 0)); }
double Event::since(const Event& earlier) const {
  float milliseconds = 0;
  MPMML_CUDA(cudaEventElapsedTime(&milliseconds, earlier.event_, event_));
  return milliseconds;
}

StagingRing::StagingRing() : used_(kSlots) {
  void* memory = nullptr;
  MPMML_CUDA(cudaMallocHost(&memory, kSlots * kSlotBytes));
  memory_ = static_cast<char*>(memory);
}

StagingRing::~StagingRing() {
  if (memory_) cudaFreeHost(memory_);
}

void* StagingRing::acquire() {
  slot_ = (slot_ + 1) % kSlots;
  used_[slot_].wait();
  return memory_ + slot_ * kSlotBytes;
}

void StagingRing::release(cudaStream_t stream) { used_[slot_].record(stream); }

Lane::Lane(int device) : device_(device) {
  int least = 0, greatest = 0;
  MPMML_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  for (cudaStream_t& stream : streams_) {
    const bool ahead = &stream == &streams_[0] || &stream == &streams_[1];
    MPMML_CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, ahead ? greatest : least));
  }
  MPMML_CUDA(cudaMallocHost(&results_, kResultBytes));
  MPMML_CUDA(cudaMalloc(&device_results_, kResultBytes));
}

Lane::~Lane() {
  if (results_) cudaFreeHost(results_);
  if (device_results_) cudaFree(device_results_);
  for (cudaStream_t stream : streams_) {
    if (stream) cudaStreamDestroy(stream);
  }
}

void Lane::quiesce() {
  for (cudaStream_t stream : streams_) healthy_ = cudaStreamSynchronize(stream) == cudaSuccess && healthy_;
}

Event& Lane::event(bool sleeps) {
  EventPool& pool = sleeps ? sleeping_ : spinning_;
  if (pool.taken == pool.events.size()) pool.events.emplace_back(sleeps);
  return pool.events[pool.taken++];
}

StagingRing& Lane::ring(int thread) {
  while (static_cast<int>(rings_.size()) <= thread) rings_.push_back(std::make_unique<StagingRing>());
  return *rings_[thread];
}

void LaneReturn::operator()(Lane* lane) const {
  std::unique_ptr<Lane> owned(lane);
  if (!lane->healthy_) return;
  lane->spinning_.taken = lane->sleeping_.taken = 0;
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

void* allocate_pinned(int64_t bytes) {
  void* memory = nullptr;
  MPMML_CUDA(cudaHostAlloc(&memory, static_cast<size_t>(bytes), cudaHostAllocPortable));
  std::memset(memory, 0, static_cast<size_t>(bytes));
  return memory;
}

void free_pinned(void* memory) { cudaFreeHost(memory); }

int64_t available_bytes(int device) {
  MPMML_CUDA(cudaSetDevice(device));
  size_t free = 0, total = 0;
  MPMML_CUDA(cudaMemGetInfo(&free, &total));
  uint64_t reserved = 0, used = 0;
  if (const cudaMemPool_t pool = pool_of(device)) {
    MPMML_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    MPMML_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  }
  const auto available = static_cast<int64_t>(free + (reserved - used));
  const char* limit = std::getenv("MPMML_DEVICE_MEMORY_MIB");
  return limit ? std::min(available, int64_t{std::atol(limit)} << 20) : available;
}

}  // namespace mpmml::cuda
