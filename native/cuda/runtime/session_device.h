// What a session and its matrices share: the streams, the memory, and what the host copies and asks.
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

/// Small results of kernels, on the device and in the lane's pinned memory: of the parts of each operand, by side, and of
/// the products. What asks one question at a time takes the first.
struct SmallResults {
  ScanResult scans[2][kMaxParts];
  LevelsFound levels[2][kMaxParts];
  unsigned long long overflow;
  unsigned arrivals[kArrivals];
};
static_assert(sizeof(SmallResults) <= Lane::kResultBytes);

/// The memories may outlive the session, and keep this.
class SessionDevice : public std::enable_shared_from_this<SessionDevice> {
 public:
  SessionDevice(int device, int64_t limit, bool is_ahead);

  int device() const { return lane_.device(); }
  /// The session's streams. What it computes is queued in the first for computing.
  Lane& lane() { return lane_; }
  SmallResults* results_on_host() const { return static_cast<SmallResults*>(lane_.results()); }
  SmallResults* results_on_device() const { return static_cast<SmallResults*>(lane_.device_results()); }
  int64_t limit() const { return limit_; }
  cudaStream_t stream() const { return lane_.compute(0); }

  /// Makes the calling thread the session's, makes the device current, and gives back what others have released.
  void enter();

  /// What is allocated from now on is part of so many bytes that have been reserved for it: it waits for no others. At first,
  /// and with 0, it waits until others leave it memory.
  void set_reserved(int64_t bytes) { reserved_ = bytes; }
  int64_t reserved() const { return reserved_; }
  /// As Session says.
  void set_cancelled(const std::atomic<int32_t>* cancelled) { cancelled_ = cancelled; }

  /// For a matrix, which other devices may read if it `is_for_peers`. Throws Error(kOutOfMemory).
  std::shared_ptr<ResidentMemory> allocate(int64_t bytes, bool is_for_peers = false);
  /// For work in the session's stream. Throws Error(kOutOfMemory).
  DeviceBuffer workspace(int64_t bytes, bool is_for_peers = false);

  /// Drops packed forms until `bytes` more can be had, and waits for products that have reserved memory or hold forms. Returns
  /// whether they can. Throws given_up(). The caller must hold no form.
  bool make_room(int64_t bytes);
  /// Drops packed forms until the device has `room` bytes to work in and `forms` bytes for forms that stay. Returns whether it
  /// has, without waiting for other products: the caller may hold forms.
  bool make_room_for_forms(int64_t room, int64_t forms);

  /// No work of more steps is queued at once if it can be divided, so that it can be given up: 20 ms on an H200.
  static constexpr double kMaxSteps = 3e11;
  /// Calls `queue`, which queues work of so many steps in `stream`, when no more than 36 ms of work (on an H200) are queued with it.
  /// Throws given_up() if `is_cancelled` then.
  template <class IsCancelled, class Queue>
  void queue_in_turn(double steps, cudaStream_t stream, IsCancelled&& is_cancelled, Queue&& queue) {
    limit_queued(steps);
    if (is_cancelled()) throw given_up();
    queue();
    count_queued(steps, stream);
  }

  MemoryUse use();

  /// Copies host matrices to `to`, dense as `host` counts the elements. Returns when they are there for what is queued in
  /// the stream from now on.
  void upload(const HostLayout& host, void* to, const std::atomic<int32_t>* cancelled);

  /// Queues a copy of what the host has at `from`, which may change as soon as this returns.
  void send(const void* from, int64_t bytes, void* to);

  /// The facts about `count` elements, for which it waits.
  ValueBounds scan(DataType dtype, Storage storage, const void* data, int64_t count);

  /// The same about all that a memory holds.
  ValueBounds scan(DataType dtype, Storage storage, const Memory& memory) {
    return scan(dtype, storage, memory.data(), memory.bytes() / stored_bytes(dtype, storage));
  }

  /// The same about what is inside the band of matrices.
  ValueBounds scan_inside(DataType dtype, int64_t batch, const MatrixView& view, const Band& band);

  /// Scans some elements, or then all, of lines that it knows of; waits.
  void sample_levels(const Operation& operation, std::initializer_list<KnownLines*> lines);
  void find_levels(const Operation& operation, KnownLines& lines, bool has_zero);

  /// Copies a matrix to the host, for a message.
  struct HostCopy {
    std::vector<char> data;
    MatrixView view;
  };
  HostCopy fetch(DataType dtype, int64_t batch, const MatrixView& from);

  /// The index of the first element that is NaN, for which it waits.
  std::optional<int64_t> find_nan(DataType dtype, int64_t batch, const MatrixView& matrix);

  /// kArrivals counters on the device, each 0 when nothing runs.
  unsigned* arrivals();

  /// A place on the device for the smallest index of a result that overflowed.
  unsigned long long* overflow() { return &results_on_device()->overflow; }

 private:
  void limit_queued(double steps);
  void count_queued(double steps, cudaStream_t stream);

  /// The facts that `queue` has put into its argument.
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
  /// Work in the stream that takes long, oldest first.
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
