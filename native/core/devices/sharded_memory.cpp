#include "core/devices/sharded_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "core/devices/partition.h"
#include "core/host/huge_pages.h"

namespace mpmml {
namespace {

/// Number of bytes whose allocation on one device after the other takes longer than to wake threads (estimated).
constexpr int64_t kWorthThreads = int64_t{64} << 20;

Span in_both(Span x, Span y) { return {std::max(x.first, y.first), std::min(x.end, y.end)}; }

/// Throws Error if pointer differences can't address `bytes` bytes: views name elements by address differences.
void require_addresses(int64_t bytes) {
  constexpr int64_t kMost = std::numeric_limits<std::ptrdiff_t>::max() - kPage;
  if (bytes <= kMost) return;
  throw Error(ErrorCode::kOutOfMemory,
              "a matrix needs " + in_mebibytes(bytes) + ", but addresses reach " + in_mebibytes(kMost));
}

}  // namespace

/// Concurrent copies between devices.
class PeerTransfers::Exchange {
 public:
  explicit Exchange(PeerTransfers& peers) : peers_(peers), takes_(peers.sessions_.size()) {
    for (const auto& each : peers.sessions_) before_.push_back(each->moment());
    peers.exchange_ = this;
  }
  ~Exchange() { peers_.exchange_ = nullptr; }
  Exchange(const Exchange&) = delete;

  /// Orders the streams before `device` copies from `source`. Must be called on the thread of `device`.
  void before(size_t device, size_t source) {
    takes_[device] = 1;
    peers_.sessions_[device]->follow(before_[source].get());
  }
  void end() {
    for (size_t device = 0; device < takes_.size(); ++device) {
      if (!takes_[device]) continue;
      const std::shared_ptr<StreamEvent> taken = peers_.sessions_[device]->moment();
      for (size_t other = 0; other < takes_.size(); ++other) {
        if (other != device) peers_.sessions_[other]->follow(taken.get());
      }
    }
  }

 private:
  PeerTransfers& peers_;
  std::vector<std::shared_ptr<StreamEvent>> before_;
  std::vector<char> takes_;
};

PeerTransfers::PeerTransfers(ShardedDevices devices)
    : sessions_(std::move(devices.sessions)),
      ahead_(sessions_.size()),
      numbers_(std::move(devices.numbers)),
      speeds_(std::move(devices.speeds)),
      limits_(devices.limits),
      threads_(sessions_.size()) {}

Session& PeerTransfers::ahead(size_t device) {
  Session* const opened = ahead_[device].opened.load(std::memory_order_acquire);
  return opened ? *opened : *sessions_[device];
}

void PeerTransfers::open_ahead(size_t device) {
  SessionsInProgress& ahead = ahead_[device];
  if (ahead.owner) return;
  ahead.owner = sessions_[device]->open_ahead();
  ahead.opened.store(ahead.owner.get(), std::memory_order_release);
}

void PeerTransfers::collect(size_t device) {
  sessions_[device]->collect();
  if (Session* const opened = ahead_[device].opened.load(std::memory_order_acquire)) opened->collect();
}

MemoryUse PeerTransfers::memory_use(size_t device) {
  MemoryUse use = sessions_[device]->memory_use();
  Session* const opened = ahead_[device].opened.load(std::memory_order_acquire);
  if (!opened) return use;
  const MemoryUse other = opened->memory_use();
  use.used += other.used;
  use.peak += other.peak;
  return use;
}

void PeerTransfers::exchange(const std::function<void(size_t)>& body) {
  Exchange exchange(*this);
  try {
    threads_.run(body);
  } catch (...) {
    exchange.end();
    throw;
  }
  exchange.end();
}

Placement PeerTransfers::place(size_t device, const Placement& where) const {
  return on_device(sessions_[device]->device(), where);
}

std::vector<Span> PeerTransfers::divide(int64_t units, int64_t unit_bytes) const {
  if (units * unit_bytes >= limits_.min_bytes && units >= static_cast<int64_t>(sessions_.size())) {
    return shares_of(units, speeds_, true);
  }
  std::vector<Span> spans(sessions_.size(), Span{units, units});
  spans.front().first = 0;
  return spans;
}

std::shared_ptr<ShardedMemory> PeerTransfers::allocate(int64_t units, int64_t unit_bytes) {
  const int64_t bytes = units * unit_bytes;
  require_addresses(bytes);
  std::vector<ShardedMemory::Piece> pieces;
  for (const Span& share : divide(units, unit_bytes)) {
    pieces.push_back({{share.first * unit_bytes, share.end * unit_bytes}, nullptr});
  }
  const auto take = [&](size_t device) {
    const int64_t size = pieces[device].bytes.size();
    if (size == 0 && (device > 0 || bytes > 0)) return;
    of_device(device, [&] { pieces[device].memory = sessions_[device]->allocate_for_peers(size); });
  };
  if (bytes >= kWorthThreads || limits_.min_bytes == 0) {
    threads_.run(take);
  } else {
    for (size_t device = 0; device < sessions_.size(); ++device) take(device);
  }
  // Virtual addresses that no allocation has. They are reused after the range is exhausted.
  constexpr int64_t kFirstAddress = sizeof(void*) == 8 ? int64_t{1} << 60 : int64_t{1} << 31;
  constexpr int64_t kEnd = 2 * kFirstAddress;
  const int64_t taken = round_up(bytes + 1, kPage);
  if (next_address_ == 0 || next_address_ + taken > kEnd) next_address_ = kFirstAddress;
  void* const address = reinterpret_cast<void*>(static_cast<uintptr_t>(next_address_));
  next_address_ += taken;
  return std::make_shared<ShardedMemory>(address, bytes, std::move(pieces));
}

/// Copies bytes from one device to another, ordered after the queued work of both.
void PeerTransfers::transfer(size_t device, size_t source, const Memory& from, int64_t from_at, Memory& to,
                             int64_t to_at, int64_t bytes) {
  if (source == device) return sessions_[device]->receive(*sessions_[device], from, from_at, to, to_at, bytes);
  if (exchange_) {
    exchange_->before(device, source);
    return sessions_[device]->receive(*sessions_[source], from, from_at, to, to_at, bytes);
  }
  sessions_[device]->follow(sessions_[source]->moment().get());
  sessions_[device]->receive(*sessions_[source], from, from_at, to, to_at, bytes);
  sessions_[source]->follow(sessions_[device]->moment().get());
}

/// Copies the bytes of a memory to memory of a device.
void PeerTransfers::gather(size_t device, ShardedMemory& from, Span bytes, Memory& to) {
  for (size_t step = 0; step < sessions_.size(); ++step) {
    // Each device begins with a different source, so that not all read from one device at once.
    const size_t source = (device + step) % sessions_.size();
    const ShardedMemory::Piece& piece = from.pieces[source];
    const Span both = in_both(bytes, piece.bytes);
    if (both.is_empty()) continue;
    of_device(device, [&] {
      transfer(device, source, *piece.memory, both.first - piece.bytes.first, to, both.first - bytes.first,
               both.size());
    });
  }
}

MatrixView PeerTransfers::on(size_t device, const MatrixView& view, DataType dtype, int64_t batch, Kept& kept) {
  if (!view.data || !view.memory) return view;
  ShardedMemory& memory = sharded(view.memory);
  const Span bytes = bytes_of(view, dtype, batch);
  const ShardedMemory::Piece& piece = memory.pieces[device];
  if (piece.memory && piece.bytes.holds(bytes)) return moved(view, *piece.memory, piece.bytes.first);
  if (bytes.size() == 0) return on_piece(device, view);
  if (2 * bytes.size() < memory.bytes()) {
    std::shared_ptr<Memory> part = of_device(device, [&] { return sessions_[device]->allocate(bytes.size()); });
    gather(device, memory, bytes, *part);
    kept.push_back(part);
    return moved(view, *part, bytes.first);
  }
  ShardedMemory::Replica& replica = memory.replicas[device];
  if (!replica.is_fresh) {
    // The replica gets new memory, because known bounds of the old content must not apply to it.
    replica.memory.reset();
    replica.memory = of_device(device, [&] { return sessions_[device]->allocate(memory.bytes()); });
    gather(device, memory, {0, memory.bytes()}, *replica.memory);
    replica.is_fresh = true;
  }
  kept.push_back(replica.memory);
  return moved(view, *replica.memory, 0);
}

Whole PeerTransfers::fetch_whole(const MutableMatrixView& view, DataType dtype, int64_t batch) {
  const Span bytes = bytes_of(view, dtype, batch);
  Whole whole{view, of_device(0, [&] { return sessions_[0]->allocate_for_peers(bytes.size()); }), bytes};
  gather(0, sharded(view.memory), bytes, *whole.memory);
  whole.view = moved(view, *whole.memory, bytes.first);
  return whole;
}

void PeerTransfers::put_back(const MutableMatrixView& to, const Whole& whole) {
  ShardedMemory& memory = sharded(to.memory);
  for (size_t device = 0; device < sessions_.size(); ++device) {
    const ShardedMemory::Piece& piece = memory.pieces[device];
    const Span both = in_both(whole.bytes, piece.bytes);
    if (both.is_empty()) continue;
    of_device(device, [&] {
      transfer(device, 0, *whole.memory, both.first - whole.bytes.first, *piece.memory, both.first - piece.bytes.first,
               both.size());
    });
  }
}

std::unique_ptr<Pending> PeerTransfers::multiply(size_t device, const Problem& problem, const Placement& where,
                                                 Kept& kept) {
  auto problems = std::make_shared<std::vector<Problem>>(1, problem);
  kept.push_back(problems);
  return sessions_[device]->multiply(*problems, place(device, where));
}

}  // namespace mpmml
