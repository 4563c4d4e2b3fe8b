// Memory that is sharded over multiple devices, and transfers of its parts between them.
#pragma once
#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/devices/partition.h"
#include "core/devices/sharding.h"
#include "core/host/device_threads.h"
#include "core/problem/region.h"
#include "core/session/product_matrices.h"
#include "core/session/session.h"
#include "core/status.h"

namespace mpmml {

/// Memory whose shards are on multiple devices. Views name its elements by virtual addresses, which can't be
/// dereferenced.
class ShardedMemory final : public Memory {
 public:
  struct Piece {
    Span bytes;                      ///< range in the whole memory; empty if the device has no shard
    std::shared_ptr<Memory> memory;  ///< null if `bytes` is empty
  };
  /// Copy of the whole memory on one device.
  struct Replica {
    std::shared_ptr<Memory> memory;
    bool is_fresh = false;
  };

  ShardedMemory(void* address, int64_t bytes, std::vector<Piece> made)
      : Memory(address, bytes), pieces(std::move(made)), replicas(pieces.size()) {}

  /// Marks copies as stale, because elements have changed.
  void written() {
    for (Replica& replica : replicas) replica.is_fresh = false;
  }

  void retire() override {
    const auto retire_own = [](const std::shared_ptr<Memory>& memory) {
      if (memory.use_count() == 1) memory->retire();
    };
    for (const Piece& piece : pieces) retire_own(piece.memory);
    for (const Replica& replica : replicas) retire_own(replica.memory);
  }

  const std::vector<Piece> pieces;
  std::vector<Replica> replicas;
};

inline ShardedMemory& sharded(Memory* memory) { return static_cast<ShardedMemory&>(*memory); }

/// Scope in which elements of a memory change. Its end marks all replicas as stale, also after an exception, including
/// the replicas that were created in the scope to read other elements.
class Writing {
 public:
  /// `memory` may be null: then nothing is written.
  explicit Writing(Memory* memory) : memory_(memory) {}
  ~Writing() {
    if (memory_) sharded(memory_).written();
  }
  Writing(const Writing&) = delete;

 private:
  Memory* const memory_;
};

/// Returns a Writing scope for each result of a product.
template <class Product>
std::deque<Writing> writing_results(const Product& product) {
  std::deque<Writing> all;
  for_results(product, [&](const MutableMatrixView& view, DataType) { all.emplace_back(view.memory); });
  return all;
}

/// Returns the range of bytes in their memory that contains the elements of matrices.
template <class Pointer>
Span bytes_of(const BasicMatrixView<Pointer>& view, DataType dtype, int64_t batch) {
  const int64_t bytes = stored_bytes(dtype, view.storage);
  const int64_t first =
      static_cast<const char*>(view.data) - static_cast<const char*>(static_cast<const void*>(view.memory->data()));
  if (batch == 0 || view.rows == 0 || view.cols == 0) return {first, first};
  const int64_t last =
      (batch - 1) * view.batch_stride + (view.rows - 1) * view.row_stride + (view.cols - 1) * view.col_stride;
  return {first, first + (last + 1) * bytes};
}

/// Returns the view of the matrices in `memory`, which has a copy of the bytes from `copied_from` on.
template <class Pointer>
BasicMatrixView<Pointer> moved(BasicMatrixView<Pointer> view, Memory& memory, int64_t copied_from) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const char, char>;
  const int64_t first =
      static_cast<const char*>(view.data) - static_cast<const char*>(static_cast<const void*>(view.memory->data()));
  view.data = static_cast<Byte*>(memory.data()) + (first - copied_from);
  view.memory = &memory;
  return view;
}

/// Copy on the first device of the range of bytes that contains matrices.
struct Whole {
  MutableMatrixView view;
  std::shared_ptr<Memory> memory;
  Span bytes;
};

/// Objects that must live until work is done.
using Kept = std::vector<std::shared_ptr<void>>;

/// Devices that hold shards of the same matrices, and copy from each other. Functions with the parameter `device` may
/// run concurrently for different devices, each on one thread.
class PeerTransfers {
 public:
  explicit PeerTransfers(ShardedDevices devices);

  size_t count() const { return sessions_.size(); }
  Session& session(size_t device) const { return *sessions_[device]; }
  /// Returns a session of the same device with higher priority than session(device); session(device) itself unless
  /// open_ahead() has opened one.
  Session& ahead(size_t device);
  void open_ahead(size_t device);
  /// Calls Session::collect() for both sessions of the device.
  void collect(size_t device);
  MemoryUse memory_use(size_t device);
  const std::vector<int>& numbers() const { return numbers_; }
  BackendKind backend() const { return sessions_.front()->backend(); }
  bool are_host() const { return sessions_.front()->is_host(); }
  const MultiDeviceThresholds& limits() const { return limits_; }

  /// Calls `body(device)` for all devices concurrently. Throws the exception of the first device whose call threw.
  void run(const std::function<void(size_t)>& body) { threads_.run(body); }
  /// Calls `body(device, region)` concurrently for all devices with a region that isn't empty. Errors name the device.
  template <class Body>
  void each(const std::vector<Region>& regions, Body&& body) {
    run([&](size_t device) {
      if (!regions[device].is_empty()) of_device(device, [&] { body(device, regions[device]); });
    });
  }
  /// Like run(), but copies between devices run concurrently. All copies begin after the earlier work of all devices,
  /// and later work begins after all copies.
  void exchange(const std::function<void(size_t)>& body);

  /// Calls `body` and returns its result. Adds the device's name to errors of the device.
  template <class Body>
  auto of_device(size_t device, Body&& body) const -> decltype(body()) {
    try {
      return body();
    } catch (const Error& error) {
      if (!is_of_device(error)) throw;
      throw Error(error.code(), name_of_device(backend(), numbers_[device]) + " failed: " + error.what(),
                  error.product());
    }
  }

  /// Returns `where`, placed on this device.
  Placement place(size_t device, const Placement& where) const;

  /// Returns the span of units of memory for each device.
  std::vector<Span> divide(int64_t units, int64_t unit_bytes) const;
  /// Allocates memory for `units` units of equal sizes, none of which is divided.
  std::shared_ptr<ShardedMemory> allocate(int64_t units, int64_t unit_bytes);

  /// Returns the region of the matrices in each device's shard: batch entries, or rows of a matrix. Returns nothing if
  /// the matrices aren't sharded by these.
  template <class Pointer>
  std::optional<std::vector<Region>> regions_of(const BasicMatrixView<Pointer>& view, DataType dtype,
                                                int64_t batch) const {
    const Span bytes = bytes_of(view, dtype, batch);
    const Region all = whole(view, batch);
    Span Region::* const axis = axis_of(batch);
    const int64_t count = (all.*axis).size();
    const int64_t stride = (batch > 1 ? view.batch_stride : view.row_stride) * stored_bytes(dtype, view.storage);
    std::vector<Region> regions(sessions_.size(), all);
    int64_t covered = 0;
    for (size_t device = 0; device < sessions_.size(); ++device) {
      const Span piece = sharded(view.memory).pieces[device].bytes;
      Span& units = regions[device].*axis;
      units = {covered, covered};
      if (bytes.size() == 0) {
        units.end = count;
      } else if (piece.size() > 0 && covered < count) {
        if (count == 1 || stride == 0) {
          if (piece.holds(bytes)) units.end = count;
        } else {
          const int64_t one = bytes.size() - (count - 1) * stride;
          // Units that end within the shard, if the first of them begins in it.
          const int64_t last = (piece.end - bytes.first - one) / stride + 1;
          const bool begins = bytes.first + covered * stride >= piece.first;
          if (begins && piece.end - bytes.first >= one) units.end = std::clamp(last, covered, count);
        }
      }
      covered = units.end;
    }
    if (covered < count) return std::nullopt;
    return regions;
  }

  /// Returns the axis of sharding: batch entries of a batch, rows of a single matrix.
  static Span Region::* axis_of(int64_t batch) { return batch > 1 ? &Region::items : &Region::rows; }

  /// Returns a view of matrices that are in one shard or on the host, in terms of the device's session.
  template <class Pointer>
  BasicMatrixView<Pointer> on_piece(size_t device, const BasicMatrixView<Pointer>& view) const {
    if (!view.memory) return view;
    const ShardedMemory::Piece& piece = sharded(view.memory).pieces[device];
    if (!piece.memory) {  // The view has no elements.
      BasicMatrixView<Pointer> nothing = view;
      nothing.memory = sharded(view.memory).pieces[0].memory.get();
      return nothing;
    }
    return moved(view, *piece.memory, piece.bytes.first);
  }

  /// Returns the region of a product in each device's shard of its results. Returns nothing if its results aren't
  /// sharded alike.
  template <class Product>
  std::optional<std::vector<Region>> regions_of_results(const Product& product) const {
    std::optional<std::vector<Region>> regions;
    bool are_alike = true;
    for_results(product, [&](const MutableMatrixView& view, DataType dtype) {
      const auto of_view = regions_of(view, dtype, product.batch);
      if (!regions) regions = of_view;
      are_alike = are_alike && of_view && of_view == regions;
    });
    return are_alike ? regions : std::nullopt;
  }

  /// Returns the product of a region, with matrices that the device can access: its shards of the results, and operands
  /// as on() returns them.
  template <class Product>
  Product part_for(size_t device, const Product& product, const Region& region, Kept& kept) {
    Product part = sub(product, region);
    for_operands(part, [&](MatrixView& view, DataType dtype) { view = on(device, view, dtype, part.batch, kept); });
    for_results(part, [&](MutableMatrixView& view, DataType) { view = on_piece(device, view); });
    return part;
  }

  /// Returns matrices that the device can read: its own shard, or a copy. `kept` must live until they have been read.
  MatrixView on(size_t device, const MatrixView& view, DataType dtype, int64_t batch, Kept& kept);

  /// Copies matrices that aren't sharded by rows to the first device. put_back() must follow.
  Whole fetch_whole(const MutableMatrixView& view, DataType dtype, int64_t batch);
  void put_back(const MutableMatrixView& to, const Whole& whole);

  /// Starts a product on the device that has all of its matrices.
  std::unique_ptr<Pending> multiply(size_t device, const Problem& problem, const Placement& where, Kept& kept);

 private:
  class Exchange;

  void transfer(size_t device, size_t source, const Memory& from, int64_t from_at, Memory& to, int64_t to_at,
                int64_t bytes);
  void gather(size_t device, ShardedMemory& from, Span bytes, Memory& to);

  /// Sessions during their opening. memory_use() may be called on another thread meanwhile.
  struct SessionsInProgress {
    std::unique_ptr<Session> owner;
    std::atomic<Session*> opened{nullptr};
  };

  std::vector<std::shared_ptr<Session>> sessions_;
  std::vector<SessionsInProgress> ahead_;
  const std::vector<int> numbers_;
  const std::vector<double> speeds_;
  const MultiDeviceThresholds limits_;
  int64_t next_address_ = 0;
  Exchange* exchange_ = nullptr;  ///< current exchange, if any
  DeviceThreads threads_;
};

}  // namespace mpmml
