// State that a session and its matrices share: streams, memory, transfers and scan results.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/session/session.h"
#include "core/status.h"
#include "cuda/launch/closure.h"
#include "cuda/plan/block_partition.h"
#include "cuda/runtime/lane.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/range.h"
#include "cuda/runtime/resident.h"
#include "cuda/runtime/transfer.h"

namespace mpmml::cuda {

/// Small results of kernels, on the device and in the lane's pinned memory: scans of the parts of each operand, by
/// side, and results of products. Single scans use the first slot.
struct SmallResults {
  ScanResult scans[2][kMaxParts];
  LevelsFound levels[2][kMaxParts];
  unsigned long long overflow;
  unsigned arrivals[kArrivals];
};
static_assert(sizeof(SmallResults) <= Lane::kResultBytes);

/// Device state of a session. Matrices may outlive the session and share ownership of this object.
class SessionDevice : public std::enable_shared_from_this<SessionDevice> {
 public:
  SessionDevice(int device, int64_t limit, bool is_ahead);

  int device() const { return lane_.device(); }
  /// Streams of the session. Kernels are queued in the first compute stream.
  Lane& lane() { return lane_; }
  SmallResults* results_on_host() const { return static_cast<SmallResults*>(lane_.results()); }
  SmallResults* results_on_device() const { return static_cast<SmallResults*>(lane_.device_results()); }
  int64_t limit() const { return limit_; }
  cudaStream_t stream() const { return lane_.compute(0); }

  /// Makes the calling thread the session's thread and the device current, and frees memory that other threads have
  /// released.
  void enter();

  /// Sets the bytes that are reserved for later allocations, which then don't wait. Initially, and with 0, allocations
  /// wait until other users of the device leave enough memory.
  void set_reserved(int64_t bytes) { reserved_ = bytes; }
  int64_t reserved() const { return reserved_; }
  /// Sets the cancellation flag, as Session::set_cancelled() documents.
  void set_cancelled(const std::atomic<int32_t>* cancelled) { cancelled_ = cancelled; }

  /// Allocates memory for a matrix. Other devices may read it if `is_for_peers`. Throws Error(kOutOfMemory).
  std::shared_ptr<ResidentMemory> allocate(int64_t bytes, bool is_for_peers = false);
  /// Allocates workspace for work in the session's stream. Throws Error(kOutOfMemory).
  DeviceBuffer workspace(int64_t bytes, bool is_for_peers = false);

  /// Drops packed forms until `bytes` more bytes can be allocated, and waits for products that have reserved memory or
  /// use packed forms. Returns whether they can. Throws aborted() on cancellation. The caller must not use any packed
  /// form.
  bool make_room(int64_t bytes);
  /// Drops packed forms until `room` bytes of workspace and `forms` bytes for cached packings are available. Returns
  /// whether they are, without waiting for other products, so that the caller may use packed forms.
  bool make_room_for_forms(int64_t room, int64_t forms);

  /// Limit of the k-steps of work that is queued at once, if the work is divisible, so that it can be cancelled: 20 ms
  /// on an H200.
  static constexpr double kMaxSteps = 3e11;
  /// Calls `queue`, which queues work of `steps` k-steps in `stream`. Waits before until at most 36 ms of work (on an
  /// H200) are queued including it. Throws aborted() if `is_cancelled` returns true after the wait.
  template <class IsCancelled, class Queue>
  void queue_in_turn(double steps, cudaStream_t stream, IsCancelled&& is_cancelled, Queue&& queue) {
    limit_queued(steps);
    if (is_cancelled()) throw aborted();
    queue();
    count_queued(steps, stream);
  }

  MemoryUse use();

  /// Copies host matrices to `to` in the dense order of `host`. On return the elements are available to work that is
  /// queued in the stream from now on.
  void upload(const HostLayout& host, void* to, const std::atomic<int32_t>* cancelled);

  /// Queues a copy of host memory, which may be modified as soon as the function returns.
  void send(const void* from, int64_t bytes, void* to);

  /// Scans `count` elements, waits, and returns their bounds.
  ValueBounds scan(DataType dtype, Storage storage, const void* data, int64_t count);

  /// Scans all elements of a memory, waits, and returns their bounds.
  ValueBounds scan(DataType dtype, Storage storage, const Memory& memory) {
    return scan(dtype, storage, memory.data(), memory.bytes() / stored_bytes(dtype, storage));
  }

  /// Scans the elements inside the band of matrices, waits, and returns their bounds.
  ValueBounds scan_inside(DataType dtype, int64_t batch, const MatrixView& view, const Band& band);

  /// Scans a sample of the elements of lines, or all of them, and waits. The results are stored in `lines`.
  void sample_levels(const Operation& operation, std::initializer_list<KnownLines*> lines);
  void find_levels(const Operation& operation, KnownLines& lines, bool has_zero);

  /// Copy of a matrix on the host, for an error message.
  struct HostCopy {
    std::vector<char> data;
    MatrixView view;
  };
  HostCopy fetch(DataType dtype, int64_t batch, const MatrixView& from);

  /// Searches for the first NaN, waits, and returns its index.
  std::optional<int64_t> find_nan(DataType dtype, int64_t batch, const MatrixView& matrix);

  /// Returns kArrivals counters on the device, which are 0 between launches.
  unsigned* arrivals();

  /// Returns a slot on the device for the smallest index of a result that overflowed.
  unsigned long long* overflow() { return &results_on_device()->overflow; }

 private:
  void limit_queued(double steps);
  void count_queued(double steps, cudaStream_t stream);

  /// Waits for the scan that `queue` queues, and returns its bounds.
  template <class Queue>
  ValueBounds scan(Queue&& queue);
  bool has_capacity(int64_t bytes) const;
  void release(int64_t bytes, std::shared_ptr<ResidentMemory::Held> held);

  Lane lane_;
  const int64_t limit_;
  int64_t reserved_ = 0;
  const std::atomic<int32_t>* cancelled_ = nullptr;
  std::atomic<int64_t> used_{0}, peak_{0};
  std::atomic<std::thread::id> owner_{};
  /// Long-running work in the stream, oldest first.
  struct Turn {
    Event end;
    double steps;
  };
  std::deque<Turn> turns_;
  bool has_arrivals_ = false;
  double queued_steps_ = 0;
  std::mutex mutex_;
  std::vector<std::shared_ptr<ResidentMemory::Held>> released_;  ///< guarded by mutex_
};

}  // namespace mpmml::cuda
