// Shared B of a multi-GPU product: each device uploads a piece of every strip from the host, and copies the other
// pieces from its peers (all-gather).
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/session/backend.h"
#include "cuda/plan/block_partition.h"
#include "cuda/runtime/lane.h"
#include "cuda/runtime/transfer.h"

namespace mpmml::cuda {

/// Enables peer copies by `reader` from memory of `owner`. Returns whether that is possible.
bool let_peer_read(int owner, int reader);

/// B of a multi-GPU product. Thread-safe: the threads of all devices may call all functions. A part is the shard of one
/// device.
class BroadcastOperand final : public SharedOperand {
 public:
  /// `strips` is the number of column strips of B. `devices` has the device of each part.
  BroadcastOperand(std::vector<int> devices, int64_t strips);

  int64_t strips() const { return strips_; }
  size_t parts() const { return devices_.size(); }

  /// Returns the lines of a strip that a part uploads from the host, in the line order of the strip's layout.
  Span piece_of(size_t part, const HostLayout& strip) const;

  /// Offers the piece of `part` of a strip to the other parts. It is available in the strip's memory `data` after
  /// `arrived`. The memory must stay valid until await_readers() has returned.
  void offer(size_t part, size_t strip, const char* data, const Event& arrived);

  /// Queues copies of the other parts' pieces to the strip's memory at `data`, in `stream` of the device of `part`.
  /// Waits until the other parts have queued their uploads. Throws aborted() if a part has failed.
  void fetch(size_t part, size_t strip, const HostLayout& layout, char* data, cudaStream_t stream,
             const std::function<bool()>& is_cancelled);

  /// Marks all fetches of `part` as complete, or the part as failed with no copies in flight.
  void received(size_t part, bool failed);
  /// Waits until all other parts have completed their fetches.
  void await_readers(size_t part);

  void leave(size_t part) override;
  bool is_refused() const override { return refused_; }
  /// Disables sharing, because a part doesn't compute its product as a whole.
  void refuse() { refused_ = true; }

 private:
  struct PeerSlot {
    const char* data = nullptr;
    const Event* arrived = nullptr;
  };

  const std::vector<int> devices_;
  const int64_t strips_;
  std::atomic<bool> refused_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<PeerSlot> offers_;  ///< by part, then by strip
  std::vector<bool> has_received_;
  bool failed_ = false;
};

/// Returns the shared B of the parts, if it is large and their devices support peer copies; otherwise null.
std::unique_ptr<BroadcastOperand> broadcast_b(const std::vector<Problem>& parts, const std::vector<int>& devices);

}  // namespace mpmml::cuda
