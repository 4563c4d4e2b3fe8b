// Resources of a call on a device: streams, events, and pinned memory for staged copies.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace mpmml::cuda {

/// A CUDA event: a point in a stream that other streams can wait for. The time between two events can be measured.
class Event {
 public:
  /// If `sleeps`, a waiting thread blocks instead of spinning, which costs about 20 microseconds.
  explicit Event(bool sleeps = false);
  ~Event();
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event(const Event&) = delete;

  void record(cudaStream_t stream);
  void wait() const;
  bool has_passed() const;
  /// Makes everything that is queued in `stream` from now on wait for this event.
  void hold(cudaStream_t stream) const;
  /// Returns the milliseconds from `earlier` to this event; both must have completed.
  double since(const Event& earlier) const;

 private:
  cudaEvent_t event_ = nullptr;
};

/// Limit of the bytes of operands, and of results, that one thread copies in the time that waking others would take.
constexpr int64_t kFewBytes = int64_t{1} << 20;

/// Double buffer of pinned slots, through which one thread copies pageable memory: the device copies one slot while the
/// thread fills the next.
class StagingRing {
 public:
  static constexpr int64_t kSlotBytes = int64_t{2} << 20;

  StagingRing();
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;

  /// Returns the next slot after the device has finished with it.
  void* acquire();
  /// Marks the slot acquired last as in use until `stream` has passed this point.
  void release(cudaStream_t stream);
  /// Waits until the slot acquired last is no longer in use.
  void finish() { used_[slot_].wait(); }

 private:
  // More slots would exceed the host's caches.
  static constexpr int kSlots = 2;
  char* memory_ = nullptr;
  std::vector<Event> used_;
  int slot_ = 0;
};

/// Streams, events and pinned memory of one call on a device. Concurrent calls have separate lanes; idle lanes are
/// cached for the next call.
class Lane {
 public:
  static constexpr int kResultBytes = 4096;
  /// Number of streams for kernels. With three streams, the last thread blocks of an output block leave no
  /// multiprocessor idle: 2 % faster than with two (8192³ in 32 blocks, H200).
  static constexpr int kComputeStreams = 3;

  /// If `is_ahead`, the streams have a higher priority than the streams of other lanes.
  explicit Lane(int device, bool is_ahead = false);
  /// Creates a lane that borrows `owner`'s streams, with all kernels in the first compute stream. It must not outlive
  /// `owner`.
  explicit Lane(const Lane& owner);
  ~Lane();
  Lane& operator=(const Lane&) = delete;

  int device() const { return device_; }
  /// Streams of uploads and scans have a higher priority than compute streams, because the next kernels depend on them.
  cudaStream_t upload() const { return streams_[0]; }
  cudaStream_t scan() const { return streams_[1]; }
  cudaStream_t download() const { return streams_[2]; }
  cudaStream_t compute(int index) const { return streams_[owns_streams_ ? 3 + index % kComputeStreams : 3]; }
  /// Waits until all streams are idle. A lane that failed to become idle isn't used again.
  void quiesce();

  /// Memory of kResultBytes for small results of kernels, pinned on the host and on the device.
  void* results() const { return results_; }
  void* device_results() const { return device_results_; }

  /// Returns an event of this call. Only the call's own thread may call it.
  Event& event(bool sleeps = false);
  /// Ends the call and recycles its events. No queued work may still wait for them.
  void reset() { spinning_.taken = sleeping_.taken = 0; }

  /// Returns the staging ring of the call's thread `thread`. Only the call's own thread may create a ring.
  StagingRing& ring(int thread);

 private:
  friend struct LaneReturn;
  struct EmptyLane {};
  /// Creates an empty lane, which the public constructor fills. The destructor releases its resources if the public
  /// constructor throws.
  Lane(int device, EmptyLane) : device_(device) {}

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

/// Deleter that returns a lane to the idle ones. Its streams must be idle.
struct LaneReturn {
  void operator()(Lane* lane) const;
};
using LaneHandle = std::unique_ptr<Lane, LaneReturn>;

/// Returns an idle lane of `device`, or a new one. Makes the device current for this thread.
LaneHandle take_lane(int device);

}  // namespace mpmml::cuda
