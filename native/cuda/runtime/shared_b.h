// B of a product on several devices: each sends a piece of every strip from the host, and copies the others from its peers.
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

/// Lets `reader` copy from memory of `owner` directly. Returns whether it can.
bool let_peer_read(int owner, int reader);

/// All functions may be called by the threads of all parts.
class BroadcastOperand final : public SharedOperand {
 public:
  /// `strips` are columns of B. The parts compute on these devices.
  BroadcastOperand(std::vector<int> devices, int64_t strips);

  int64_t strips() const { return strips_; }
  size_t parts() const { return devices_.size(); }

  /// The lines of a strip that a part sends from the host, as the strip's layout counts them.
  Span piece_of(size_t part, const HostLayout& strip) const;

  /// Marks the piece of a strip of `part` as there, in the strip's memory `data`, once `arrived` has passed. The memory stays
  /// until await_readers() has returned.
  void offer(size_t part, size_t strip, const char* data, const Event& arrived);

  /// Queues copies of the pieces of the others into the strip's memory at `data`, in `stream` of the device of `part`. Waits
  /// until the others have queued theirs. Throws given_up() if one of them has failed.
  void fetch(size_t part, size_t strip, const HostLayout& layout, char* data, cudaStream_t stream,
             const std::function<bool()>& is_cancelled);

  /// Marks all that `part` has fetched as there, or the part as one that has failed and has nothing under way.
  void received(size_t part, bool failed);
  /// Waits until all others have received what they fetch.
  void await_readers(size_t part);

  void leave(size_t part) override;
  bool is_refused() const override { return refused_; }
  /// The part doesn't compute the product as a whole.
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

/// The shared B of these parts, if it is large and their devices can copy from each other; otherwise null.
std::unique_ptr<BroadcastOperand> broadcast_b(const std::vector<Problem>& parts, const std::vector<int>& devices);

}  // namespace mpmml::cuda
