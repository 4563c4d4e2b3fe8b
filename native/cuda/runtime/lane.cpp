#include "cuda/runtime/lane.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>

#include "core/host/fault_injection.h"
#include "cuda/device/error.h"

namespace mpmml::cuda {
namespace {

std::mutex lanes_mutex;

/// Idle lanes by device. Never destroyed, because CUDA may already be shut down when static objects are destroyed.
std::map<int, std::vector<std::unique_ptr<Lane>>>& idle_lanes() {
  static auto* const lanes = new std::map<int, std::vector<std::unique_ptr<Lane>>>;
  return *lanes;
}

}  // namespace

Event::Event(bool sleeps) {
  MPMML_CUDA(cudaEventCreateWithFlags(&event_, sleeps ? cudaEventBlockingSync : cudaEventDefault));
}
Event::~Event() {
  if (event_) cudaEventDestroy(event_);
}
void Event::record(cudaStream_t stream) { MPMML_CUDA(cudaEventRecord(event_, stream)); }
void Event::wait() const { MPMML_CUDA(cudaEventSynchronize(event_)); }
bool Event::has_passed() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) return false;
  MPMML_CUDA(status);
  return true;
}
void Event::hold(cudaStream_t stream) const { MPMML_CUDA(cudaStreamWaitEvent(stream, event_, 0)); }
double Event::since(const Event& earlier) const {
  float milliseconds = 0;
  MPMML_CUDA(cudaEventElapsedTime(&milliseconds, earlier.event_, event_));
  return milliseconds;
}

StagingRing::StagingRing() : used_(kSlots) {
  void* memory = nullptr;
  before_allocation();
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

Lane::Lane(int device, bool is_ahead) : Lane(device, EmptyLane{}) {
  int least = 0, greatest = 0;
  MPMML_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  for (cudaStream_t& stream : streams_) {
    const bool ahead = is_ahead || &stream == &streams_[0] || &stream == &streams_[1];
    MPMML_CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, ahead ? greatest : least));
  }
  before_allocation();
  MPMML_CUDA(cudaMallocHost(&results_, kResultBytes));
  before_allocation();
  MPMML_CUDA(cudaMalloc(&device_results_, kResultBytes));
}

Lane::Lane(const Lane& owner) : Lane(owner.device_, EmptyLane{}) {
  owns_streams_ = false;
  std::copy(std::begin(owner.streams_), std::end(owner.streams_), streams_);
}

Lane::~Lane() {
  if (results_) cudaFreeHost(results_);
  if (device_results_) cudaFree(device_results_);
  for (cudaStream_t stream : streams_) {
    if (stream && owns_streams_) cudaStreamDestroy(stream);
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
  lane->reset();
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

}  // namespace mpmml::cuda
