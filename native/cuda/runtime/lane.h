// What a call needs to run on a device: streams, events, and pinned memory to copy through.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace mpmml::cuda {

/// A point in a stream. Others can wait for it, and the time between two of them can be measured.
class Event {
 public:
  /// `sleeps`: whether a waiting thread gives up its processor, which costs some 20 microseconds.
  explicit Event(bool sleeps = false);
  ~Event();
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event(const Event&) = delete;

  void record(cudaStream_t stream);
  void wait() const;
  bool has_passed() const;
  /// Makes everything that is queued in `stream` from now on wait for this event.
  void hold(cudaStream_t stream) const;
  /// Milliseconds from `earlier` to this one; both must have passed.
  double since(const Event& earlier) const;

 private:
  cudaEvent_t event_ = nullptr;
};

/// The most bytes of operands, and of results, that one thread copies as soon as others would be awake.
constexpr int64_t kFewBytes = int64_t{1} << 20;

/// Pinned slots through which one thread copies pageable memory: while the device copies one slot, the next is filled.
class StagingRing {
 public:
  static constexpr int64_t kSlotBytes = int64_t{2} << 20;

  StagingRing();
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;

  /// The next slot, once the device is done with it.
  void* acquire();
  /// Marks the slot acquired last as in use until `stream` has passed this point.
  void release(cudaStream_t stream);
  /// Waits until the slot acquired last is no longer in use.
  void finish() { used_[slot_].wait(); }

 private:
  // More of them leave the caches of the host.
  static constexpr int kSlots = 2;
  char* memory_ = nullptr;
  std::vector<Event> used_;
  int slot_ = 0;
};

/// What one call needs on a device. Each call that runs at the same time has its own; idle ones are kept for the next
/// call.
class Lane {
 public:
  static constexpr int kResultBytes = 4096;
  /// With three streams a cell's last blocks leave no multiprocessor idle: 2 % faster than with two (8192³ in 32 cells,
  /// H200).
  static constexpr int kComputeStreams = 3;

  /// If it `is_ahead`, all that is ready runs before what is in the streams of others.
  explicit Lane(int device, bool is_ahead = false);
  /// A lane for work that is queued in `owner`'s streams, all computing in the first. It must not outlive `owner`.
  explicit Lane(const Lane& owner);
  ~Lane();
  Lane& operator=(const Lane&) = delete;

  int device() const { return device_; }
  /// If both are ready, uploads and scans run before computing, because what is computed next depends on them.
  cudaStream_t upload() const { return streams_[0]; }
  cudaStream_t scan() const { return streams_[1]; }
  cudaStream_t download() const { return streams_[2]; }
  cudaStream_t compute(int index) const { return streams_[owns_streams_ ? 3 + index % kComputeStreams : 3]; }
  /// Waits until all streams are idle. A lane that failed to become idle isn't used again.
  void quiesce();

  /// kResultBytes for small results of kernels, in pinned memory on the host and on the device.
  void* results() const { return results_; }
  void* device_results() const { return device_results_; }

  /// An event for this call only. Only the call's own thread may ask for one.
  Event& event(bool sleeps = false);
  /// Ends the call: its events can be used again. No queued work may wait for them any more.
  void reset() { spinning_.taken = sleeping_.taken = 0; }

  /// The staging ring of the call's thread number `thread`. Only the call's own thread may ask for one that doesn't
  /// exist yet.
  StagingRing& ring(int thread);

 private:
  friend struct LaneReturn;
  struct Nothing {};
  /// A lane without anything yet, which the public constructor fills. If that fails, what the lane already has is
  /// released.
  Lane(int device, Nothing) : device_(device) {}

  struct EventPool {
    std::deque<Event> events;
    size_t taken = 0;
  };

  int device_;
  bool healthy_ = true;
  bool owns_streams_ = true;
  cudaStream_t streams_[3 + kComputeStreams] = {};
  void* results_ = nullptr;
  void* device_results_ = nullptr;
  EventPool spinning_, sleeping_;
  std::vector<std::unique_ptr<StagingRing>> rings_;
};

/// Gives a lane back when it goes out of scope. Its streams must be idle by then.
struct LaneReturn {
  void operator()(Lane* lane) const;
};
using LaneHandle = std::unique_ptr<Lane, LaneReturn>;

/// An idle lane of `device`. Makes the device current for this thread.
LaneHandle take_lane(int device);

}  // namespace mpmml::cuda
