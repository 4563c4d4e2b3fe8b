#include "cuda/runtime/shared_b.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "core/status.h"
#include "cuda/device/error.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/product.h"

namespace mpmml::cuda {
namespace {

constexpr std::chrono::milliseconds kPatience{2};

/// Least size of B in bytes for sharing. Smaller operands reach each device from the host sooner than the devices can
/// synchronize (estimated).
constexpr int64_t kMinBytes = int64_t{8} << 20;

}  // namespace

bool let_peer_read(int owner, int reader) {
  if (owner == reader) return true;
  static std::mutex mutex;
  // Never destroyed, because worker threads may outlive static objects.
  static auto* const known = new std::map<std::pair<int, int>, bool>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known->find({owner, reader});
  if (found != known->end()) return found->second;
  int can = 0;
  MPMML_CUDA(cudaDeviceCanAccessPeer(&can, reader, owner));
  return (*known)[{owner, reader}] = can != 0 && open_pool_to(owner, reader);
}

BroadcastOperand::BroadcastOperand(std::vector<int> devices, int64_t strips)
    : devices_(std::move(devices)),
      strips_(strips),
      offers_(devices_.size() * static_cast<size_t>(strips)),
      has_received_(devices_.size(), false) {}

Span BroadcastOperand::piece_of(size_t part, const HostLayout& strip) const {
  const auto count = static_cast<int64_t>(devices_.size()), index = static_cast<int64_t>(part);
  const int64_t first = strip.lines * index / count;
  return {first, strip.lines * (index + 1) / count};
}

void BroadcastOperand::offer(size_t part, size_t strip, const char* data, const Event& arrived) {
  const std::lock_guard<std::mutex> lock(mutex_);
  offers_[part * static_cast<size_t>(strips_) + strip] = {data, &arrived};
  changed_.notify_all();
}

void BroadcastOperand::fetch(size_t part, size_t strip, const HostLayout& layout, char* data, cudaStream_t stream,
                             const std::function<bool()>& is_cancelled) {
  const int64_t line_bytes = layout.length * layout.element_bytes;
  // Each device begins with a different peer, so that they don't all read from one.
  for (size_t step = 1; step < devices_.size(); ++step) {
    const size_t from = (part + step) % devices_.size();
    const Span piece = piece_of(from, layout);
    if (piece.is_empty()) continue;
    PeerSlot offer;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      const PeerSlot& there = offers_[from * static_cast<size_t>(strips_) + strip];
      while (!there.arrived && !failed_) {
        if (is_cancelled()) throw aborted();
        changed_.wait_for(lock, kPatience);
      }
      if (failed_) throw aborted();
      offer = there;
    }
    offer.arrived->hold(stream);
    const int64_t first = piece.first * line_bytes;
    MPMML_CUDA(cudaMemcpyPeerAsync(data + first, devices_[part], offer.data + first, devices_[from],
                                   static_cast<size_t>(piece.size() * line_bytes), stream));
  }
}

void BroadcastOperand::received(size_t part, bool failed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  has_received_[part] = true;
  failed_ = failed_ || failed;
  changed_.notify_all();
}

void BroadcastOperand::await_readers(size_t part) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto is_read = [&] {
    for (size_t other = 0; other < has_received_.size(); ++other) {
      if (other != part && !has_received_[other]) return false;
    }
    return true;
  };
  changed_.wait(lock, is_read);
}

void BroadcastOperand::leave(size_t part) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (has_received_[part]) return;
  // The device has never offered a piece.
  has_received_[part] = true;
  failed_ = true;
  changed_.notify_all();
}

std::unique_ptr<BroadcastOperand> broadcast_b(const std::vector<Problem>& parts, const std::vector<int>& devices) {
  const Problem& first = parts.front();
  const HostLayout b = host_layout(first.b, 1, first.operation.dtype, true);
  if (b.bytes() < kMinBytes) return nullptr;
  int64_t strips = 0;
  for (const Problem& part : parts) {
    if (has_few_bytes(part)) return nullptr;
    strips = std::max(strips, static_cast<int64_t>(partition_into_blocks(part).b.size()));
  }
  for (const int owner : devices) {
    for (const int reader : devices) {
      if (!let_peer_read(owner, reader)) return nullptr;
    }
  }
  strips = static_cast<int64_t>(partition_into_blocks(first, strips).b.size());
  return std::make_unique<BroadcastOperand>(devices, strips);
}

}  // namespace mpmml::cuda
