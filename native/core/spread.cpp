#include "core/spread.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/dispatch.h"
#include "core/overflow.h"
#include "core/range.h"
#include "core/scan.h"
#include "core/status.h"

namespace mpmml {
namespace {

/// A thread for each device but the first, whose work the caller does.
class DeviceThreads {
 public:
  explicit DeviceThreads(size_t devices) {
    for (size_t index = 1; index < devices; ++index) threads_.emplace_back([this, index] { serve(index); });
  }
  ~DeviceThreads() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
  }

  /// Calls `body(device)` for all devices at the same time. Throws what that of the first device threw which did.
  void run(const std::function<void(size_t)>& body) {
    std::vector<std::exception_ptr> failures(threads_.size() + 1);
    const std::function<void(size_t)> guarded = [&](size_t device) {
      try {
        body(device);
      } catch (...) {
        failures[device] = std::current_exception();
      }
    };
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      body_ = &guarded;
      left_ = threads_.size();
      ++round_;
      changed_.notify_all();
    }
    guarded(0);
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return left_ == 0; });
    }
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }

 private:
  void serve(size_t index) {
    uint64_t done = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ends_ || round_ != done; });
      if (ends_) return;
      done = round_;
      const auto* const body = body_;
      lock.unlock();
      (*body)(index);
      lock.lock();
      if (--left_ == 0) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(size_t)>* body_ = nullptr;
  uint64_t round_ = 0;
  size_t left_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

/// Bytes of a memory: [first, end).
struct Extent {
  int64_t first, end;
  int64_t size() const { return end - first; }
  bool holds(const Extent& other) const { return first <= other.first && other.end <= end; }
};

/// Memory in pieces on several devices. It has addresses, by which views name its elements, but nothing is there.
class SpreadMemory final : public Memory {
 public:
  struct Piece {
    Extent extent;                   ///< empty if the device has none
    std::shared_ptr<Memory> memory;  ///< null then
  };
  /// A copy of the whole on a device.
  struct Replica {
    std::shared_ptr<Memory> memory;
    bool is_fresh = false;
  };

  SpreadMemory(void* address, int64_t bytes, std::vector<Piece> made)
      : Memory(address, bytes), pieces(std::move(made)), replicas(pieces.size()) {}

  /// Says that elements have changed.
  void written() {
    for (Replica& replica : replicas) replica.is_fresh = false;
  }

  const std::vector<Piece> pieces;
  std::vector<Replica> replicas;
};

SpreadMemory& spread(Memory* memory) { return static_cast<SpreadMemory&>(*memory); }

/// Where the elements of matrices are in their memory.
template <class Pointer>
Extent extent_of(const BasicMatrixView<Pointer>& view, DataType dtype, int64_t batch) {
  const int64_t bytes = stored_bytes(dtype, view.storage);
  const int64_t first =
      static_cast<const char*>(view.data) - static_cast<const char*>(static_cast<const void*>(view.memory->data()));
  if (batch == 0 || view.rows == 0 || view.cols == 0) return {first, first};
  const int64_t last =
      (batch - 1) * view.batch_stride + (view.rows - 1) * view.row_stride + (view.cols - 1) * view.col_stride;
  return {first, first + (last + 1) * bytes};
}

/// The same matrices where `memory` has a copy of the bytes from `copied_from` on.
template <class Pointer>
BasicMatrixView<Pointer> moved(BasicMatrixView<Pointer> view, Memory& memory, int64_t copied_from) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const char, char>;
  const int64_t first =
      static_cast<const char*>(view.data) - static_cast<const char*>(static_cast<const void*>(view.memory->data()));
  view.data = static_cast<Byte*>(memory.data()) + (first - copied_from);
  view.memory = &memory;
  return view;
}

/// Instances of a batch, or rows of a matrix: [first, end).
struct Lot {
  int64_t first, end;
  int64_t size() const { return end - first; }
};

template <class View>
View lot_of(View view, DataType dtype, bool by_instances, const Lot& lot) {
  if (!view.data) {
    if (!by_instances) view.rows = lot.size();
    return view;
  }
  view = view_from(view, dtype, by_instances ? lot.first : 0, by_instances ? 0 : lot.first, 0);
  if (!by_instances) view.rows = lot.size();
  return view;
}

/// What work has been started on the devices. It keeps copies that were made for it.
class Joined final : public Pending {
 public:
  struct Share {
    std::vector<std::unique_ptr<Pending>> works;  ///< of a device, in their order
    std::vector<std::vector<size_t>> products;    ///< which of the caller's each of them has
  };

  Joined(std::vector<Share> shares, std::vector<std::shared_ptr<void>> kept, size_t products)
      : kept_(std::move(kept)), shares_(std::move(shares)), products_(products) {}

  bool is_done() override {
    for (Share& share : shares_) {
      for (const auto& work : share.works) {
        if (!work->is_done()) return false;
      }
    }
    return true;
  }

  std::vector<Outcome> finish() override {
    std::vector<Outcome> outcomes(products_);
    std::exception_ptr failure;
    for (Share& share : shares_) {
      for (size_t index = 0; index < share.works.size(); ++index) {
        try {
          const std::vector<Outcome> found = share.works[index]->finish();
          for (size_t at = 0; at < found.size() && at < share.products[index].size(); ++at) {
            join(outcomes[share.products[index][at]], found[at]);
          }
        } catch (...) {
          if (!failure) failure = std::current_exception();
        }
      }
    }
    if (failure) std::rethrow_exception(failure);
    return outcomes;
  }

 private:
  static void join(Outcome& all, const Outcome& part) {
    if (!all.plan.variant || part.plan.path > all.plan.path) all.plan = part.plan;
    Timing& timing = all.timing;
    timing.kernel = std::max(timing.kernel, part.timing.kernel);
    timing.analysis = std::max(timing.analysis, part.timing.analysis);
    timing.h2d = std::max(timing.h2d, part.timing.h2d);
    timing.d2h = std::max(timing.d2h, part.timing.d2h);
    if (part.gain) all.gain = part.gain;
  }

  const std::vector<std::shared_ptr<void>> kept_;
  std::vector<Share> shares_;  ///< last: work uses what is kept
  const size_t products_;
};

class SpreadSession final : public Session {
 public:
  explicit SpreadSession(SpreadDevices devices)
      : sessions_(std::move(devices.sessions)),
        numbers_(std::move(devices.numbers)),
        speeds_(std::move(devices.speeds)),
        least_bytes_(devices.least_bytes),
        multiply_(std::move(devices.multiply)),
        threads_(sessions_.size()) {}

  BackendKind backend() const override { return sessions_.front()->backend(); }
  int device() const override { return sessions_.front()->device(); }
  std::vector<int> devices() const override { return numbers_; }
  std::string name() const override {
    std::string names;
    for (const auto& session : sessions_) {
      const std::string name = session->name();
      if (names.find(name) == std::string::npos || names.empty()) names += (names.empty() ? "" : ", ") + name;
    }
    return names;
  }

  MemoryUse memory_use() override {
    MemoryUse all{};
    for (const auto& session : sessions_) {
      const MemoryUse use = session->memory_use();
      all.used += use.used;
      all.reserved += use.reserved;
      all.peak += use.peak;
      all.free += use.free;
      all.total += use.total;
      // Pretended devices have the same memory.
      if (session->device() == device() && session != sessions_.front()) {
        all.free -= use.free;
        all.total -= use.total;
      }
    }
    return all;
  }

  void collect() override {
    for (const auto& session : sessions_) session->collect();
  }

  std::shared_ptr<Memory> allocate(int64_t bytes) override { return allocate_units(1, bytes); }

  /// Which pieces of memory each device gets.
  std::vector<Lot> lots_of_memory(int64_t units, int64_t unit_bytes) const {
    constexpr int64_t kTile = 128;
    const auto count = static_cast<int64_t>(sessions_.size());
    const int64_t bytes = units * unit_bytes;
    const bool is_spread = bytes >= least_bytes_ && units >= count;
    const int64_t granule = units >= count * kTile ? kTile : 1;
    const double all = std::accumulate(speeds_.begin(), speeds_.end(), 0.0);
    std::vector<Lot> lots;
    double before = 0;
    int64_t first = 0;
    for (size_t device = 0; device < sessions_.size(); ++device) {
      before += speeds_[device];
      const double share = before / all * static_cast<double>(units) / static_cast<double>(granule);
      int64_t end = std::clamp(static_cast<int64_t>(share + 0.5) * granule, first, units);
      if (device + 1 == sessions_.size() || !is_spread) end = units;
      lots.push_back({first, end});
      first = end;
    }
    return lots;
  }

  std::shared_ptr<Memory> allocate_units(int64_t units, int64_t unit_bytes) override {
    const int64_t bytes = units * unit_bytes;
    const std::vector<Lot> lots = lots_of_memory(units, unit_bytes);
    std::vector<SpreadMemory::Piece> pieces;
    for (const Lot& lot : lots) pieces.push_back({{lot.first * unit_bytes, lot.end * unit_bytes}, nullptr});
    const auto take = [&](size_t device) {
      const int64_t size = pieces[device].extent.size();
      if (size == 0 && (device > 0 || bytes > 0)) return;
      of_device(device, [&] { pieces[device].memory = sessions_[device]->allocate_for_peers(size); });
    };
    if (bytes >= kWorthThreads || least_bytes_ == 0) {
      threads_.run(take);
    } else {
      for (size_t device = 0; device < sessions_.size(); ++device) take(device);
    }
    // Addresses of nothing, far from those of anything.
    constexpr int64_t kFirstAddress = int64_t{1} << 60, kPage = 4096;
    if (next_address_ == 0) next_address_ = kFirstAddress;
    void* const address = reinterpret_cast<void*>(next_address_);
    next_address_ += round_up(bytes + 1, kPage);
    return std::make_shared<SpreadMemory>(address, bytes, std::move(pieces));
  }

  void upload(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
              const std::atomic<int32_t>* cancelled) override {
    spread(to.memory).written();
    const std::optional<Lots> lots = lots_of(to, dtype, batch);
    if (!lots) {
      Whole whole = fetch_whole(to, dtype, batch);
      of_device(0, [&] { sessions_[0]->upload(dtype, batch, from, whole.view, cancelled); });
      return put_back(to, whole);
    }
    threads_.run([&](size_t device) {
      const Lot& lot = lots->of[device];
      if (lot.size() == 0) return;
      of_device(device, [&] {
        sessions_[device]->upload(dtype, lots->batch(batch, lot), lot_of(from, dtype, lots->by_instances, lot),
                                  on_piece(device, lot_of(to, dtype, lots->by_instances, lot)), cancelled);
      });
    });
  }

  std::unique_ptr<Pending> download(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
                                    const std::atomic<int32_t>* cancelled) override {
    const std::optional<Lots> lots = lots_of(from, dtype, batch);
    if (!lots) {
      Kept kept;
      const MatrixView whole = on(0, from, dtype, batch, kept);
      return alone(of_device(0, [&] { return sessions_[0]->download(dtype, batch, whole, to, cancelled); }), kept);
    }
    // At the same time: each makes streams and pinned memory, if there are none from earlier copies.
    std::vector<Joined::Share> shares(sessions_.size());
    threads_.run([&](size_t device) {
      const Lot& lot = lots->of[device];
      if (lot.size() == 0) return;
      of_device(device, [&] {
        shares[device].works.push_back(sessions_[device]->download(
            dtype, lots->batch(batch, lot), on_piece(device, lot_of(from, dtype, lots->by_instances, lot)),
            lot_of(to, dtype, lots->by_instances, lot), cancelled));
      });
      shares[device].products.push_back({});
    });
    return std::make_unique<Joined>(std::move(shares), Kept(), 0);
  }

  std::unique_ptr<Pending> fill(DataType dtype, int64_t batch, const MutableMatrixView& to, double value) override {
    return write(dtype, batch, to,
                 [&](size_t device, int64_t items, const MutableMatrixView& part, const Part&, Kept&) {
                   return sessions_[device]->fill(dtype, items, part, value);
                 });
  }

  std::unique_ptr<Pending> combine(const Operation& operation, int64_t batch, const MutableMatrixView& c,
                                   const MatrixView& d) override {
    const DataType dtype = operation.dtype;
    // Before any device changes its rows, all elements must be known to be right.
    if (restricts_elements(operation)) {
      require_elements_of(operation, batch, read_only(c), "the matrix");
      require_elements_of(operation, batch, d, "d");
    }
    return write(
        dtype, batch, c, [&](size_t device, int64_t items, const MutableMatrixView& part, const Part& at, Kept& kept) {
          return sessions_[device]->combine(operation, items, part, on(device, at.of(d, dtype), dtype, items, kept));
        });
  }

  std::unique_ptr<Pending> copy(DataType dtype, int64_t batch, const MatrixView& from,
                                const MutableMatrixView& to) override {
    return write(
        dtype, batch, to, [&](size_t device, int64_t items, const MutableMatrixView& part, const Part& at, Kept& kept) {
          return sessions_[device]->copy(dtype, items, on(device, at.of(from, dtype), dtype, items, kept), part);
        });
  }

  void receive(Session&, const Memory&, int64_t, Memory&, int64_t, int64_t) override {
    throw Error(ErrorCode::kDevice, "matrices can't be spread twice");
  }

  ValueRange range(const Operation& operation, int64_t batch, const MatrixView& matrix) override {
    const DataType dtype = operation.dtype;
    const std::optional<Lots> lots = lots_of(matrix, dtype, batch);
    if (!lots) {
      Kept kept;
      const MatrixView whole = on(0, matrix, dtype, batch, kept);
      return of_device(0, [&] { return sessions_[0]->range(operation, batch, whole); });
    }
    std::vector<std::optional<ValueRange>> ranges(sessions_.size());
    threads_.run([&](size_t device) {
      const Lot& lot = lots->of[device];
      if (lot.size() == 0) return;
      of_device(device, [&] {
        ranges[device] = sessions_[device]->range(operation, lots->batch(batch, lot),
                                                  on_piece(device, lot_of(matrix, dtype, lots->by_instances, lot)));
      });
    });
    std::optional<ValueRange> all;
    for (const auto& range : ranges) {
      if (!range) continue;
      if (all) {
        all->merge(*range);
      } else {
        all = range;
      }
    }
    return all.value_or(ValueRange{});
  }

  int64_t most_pivots(const Operation& operation) const override { return sessions_[0]->most_pivots(operation); }

  /// The first device passes them, on a copy of what it doesn't have.
  std::unique_ptr<Pending> pass(const Pivots& pivots) override {
    const DataType dtype = pivots.operation.dtype;
    Pivots there = pivots;
    std::vector<std::pair<MutableMatrixView, Whole>> written;
    const auto take = [&](MutableMatrixView& view, DataType type) {
      if (!view.data) return;
      Whole whole = fetch_whole(view, type, pivots.batch);
      const MutableMatrixView before = view;
      view = whole.view;
      written.emplace_back(before, std::move(whole));
    };
    take(there.d, dtype);
    take(there.columns, dtype);
    take(there.rows, dtype);
    for (MutableMatrixView* const view : {&there.next, &there.next_columns, &there.gain}) take(*view, DataType::kInt32);
    Kept kept;
    std::unique_ptr<Pending> work = of_device(0, [&] { return sessions_[0]->pass(there); });
    for (auto& [to, whole] : written) {
      spread(to.memory).written();
      put_back(to, whole);
      kept.push_back(whole.memory);
    }
    return alone(std::move(work), kept);
  }

  std::unique_ptr<Pending> point(const Operation& operation, int64_t batch, const MatrixView& d,
                                 const MutableMatrixView& next) override {
    return write(DataType::kInt32, batch, next,
                 [&](size_t device, int64_t items, const MutableMatrixView& part, const Part& at, Kept& kept) {
                   return sessions_[device]->point(
                       operation, items, on(device, at.of(d, operation.dtype), operation.dtype, items, kept), part);
                 });
  }

  std::unique_ptr<Pending> multiply(const std::vector<Problem>& problems, const Placement& where) override;

  /// The plan of the part whose path is told in the outcome.
  Plan plan(const Problem& problem, const Placement& where) override {
    Kept kept;
    const DataType dtype = problem.operation.dtype;
    const bool by_instances = problem.batch > 1;
    const int64_t units = by_instances ? problem.batch : problem.m();
    const int64_t bytes = units == 0 ? 0 : problem.outputs() / units * element_bytes(dtype);
    const std::vector<Lot> lots = lots_of_memory(units, bytes);
    std::optional<Plan> worst;
    for (size_t device = 0; device < sessions_.size(); ++device) {
      if (lots[device].size() == 0) continue;
      const Part part{by_instances, lots[device]};
      Problem there = problem;
      if (by_instances) there.batch = part.lot.size();
      there.a = part.of(there.a, dtype);
      there.c0 = part.of(there.c0, dtype);
      if (by_instances) there.b = part.of(there.b, dtype);
      for (MatrixView* const view : {&there.a, &there.b, &there.c0}) {
        if (view->data && view->memory) *view = on(device, *view, dtype, there.batch, kept);
      }
      const Plan plan = of_device(device, [&] { return sessions_[device]->plan(there, place(device, where)); });
      if (!worst || plan.path > worst->path) worst = plan;
    }
    return *worst;
  }

 private:
  using Kept = std::vector<std::shared_ptr<void>>;

  /// What each device has of a matrix, or of a batch.
  struct Lots {
    bool by_instances;
    std::vector<Lot> of;
    int64_t batch(int64_t all, const Lot& lot) const { return by_instances ? lot.size() : all; }
  };

  /// A part of a matrix that is written, and of others of the same rows.
  struct Part {
    bool by_instances;
    Lot lot;
    template <class View>
    View of(const View& view, DataType dtype) const {
      return lot_of(view, dtype, by_instances, lot);
    }
  };

  /// A copy on the first device of the bytes that matrices lie among.
  struct Whole {
    MutableMatrixView view;
    std::shared_ptr<Memory> memory;
    Extent extent;
  };

  /// So many bytes take longer to allocate on one device after the other than threads take to wake (estimated).
  static constexpr int64_t kWorthThreads = int64_t{64} << 20;

  /// Copies between devices that happen at the same time: all begin after what the devices have been asked for before, and
  /// what they are asked for afterwards begins after all of them.
  class Exchange {
   public:
    explicit Exchange(SpreadSession& session) : session_(session), takes_(session.sessions_.size()) {
      for (const auto& each : session.sessions_) before_.push_back(each->moment());
      session.exchange_ = this;
    }
    ~Exchange() { session_.exchange_ = nullptr; }
    Exchange(const Exchange&) = delete;

    /// To be called on the thread of `device` before it takes something from `source`.
    void before(size_t device, size_t source) {
      takes_[device] = 1;
      session_.sessions_[device]->follow(before_[source].get());
    }
    void end() {
      for (size_t device = 0; device < takes_.size(); ++device) {
        if (!takes_[device]) continue;
        const std::shared_ptr<Moment> taken = session_.sessions_[device]->moment();
        for (size_t other = 0; other < takes_.size(); ++other) {
          if (other != device) session_.sessions_[other]->follow(taken.get());
        }
      }
    }

   private:
    SpreadSession& session_;
    std::vector<std::shared_ptr<Moment>> before_;
    std::vector<char> takes_;
  };

  /// Calls `body(device)` for all devices at the same time, while what they copy from each other is an exchange.
  void exchange(const std::function<void(size_t)>& body) {
    Exchange exchange(*this);
    try {
      threads_.run(body);
    } catch (...) {
      exchange.end();
      throw;
    }
    exchange.end();
  }

  /// Copies bytes from one device to another, in the order of what both have been asked for.
  void transfer(size_t device, size_t source, const Memory& from, int64_t from_at, Memory& to, int64_t to_at,
                int64_t bytes) {
    if (source == device) return sessions_[device]->receive(*sessions_[device], from, from_at, to, to_at, bytes);
    if (exchange_) {
      exchange_->before(device, source);
      return sessions_[device]->receive(*sessions_[source], from, from_at, to, to_at, bytes);
    }
    sessions_[device]->follow(sessions_[source]->moment().get());
    sessions_[device]->receive(*sessions_[source], from, from_at, to, to_at, bytes);
    sessions_[source]->follow(sessions_[device]->moment().get());
  }

  Placement place(size_t device, const Placement& where) const {
    Placement place = where;
    place.device = sessions_[device]->device();
    return place;
  }

  template <class Body>
  auto of_device(size_t device, Body&& body) -> decltype(body()) {
    try {
      return body();
    } catch (const Error& error) {
      const bool is_of_device = error.code() == ErrorCode::kCuda || error.code() == ErrorCode::kOutOfMemory;
      if (!is_of_device) throw;
      throw Error(error.code(),
                  (backend() == BackendKind::kCuda ? "CUDA device " : "device ") + std::to_string(numbers_[device]) +
                      " failed: " + error.what(),
                  error.product());
    }
  }

  /// The rows, or the instances, that each device has as a whole; nothing if they aren't divided so.
  template <class Pointer>
  std::optional<Lots> lots_of(const BasicMatrixView<Pointer>& view, DataType dtype, int64_t batch) {
    const int64_t bytes = stored_bytes(dtype, view.storage);
    const SpreadMemory& memory = spread(view.memory);
    const Extent whole = extent_of(view, dtype, batch);
    Lots lots{batch > 1, {}};
    const int64_t count = lots.by_instances ? batch : view.rows;
    const int64_t stride = (lots.by_instances ? view.batch_stride : view.row_stride) * bytes;
    int64_t covered = 0;
    for (const SpreadMemory::Piece& piece : memory.pieces) {
      Lot lot{covered, covered};
      if (piece.extent.size() > 0 && covered < count) {
        if (count == 1 || stride == 0) {
          if (piece.extent.holds(whole)) lot.end = count;
        } else {
          const int64_t one = whole.size() - (count - 1) * stride;
          // Those that end within the piece, if the first of them begins there.
          const int64_t last = (piece.extent.end - whole.first - one) / stride + 1;
          const bool begins = whole.first + covered * stride >= piece.extent.first;
          if (begins && piece.extent.end - whole.first >= one) lot.end = std::clamp(last, covered, count);
        }
      }
      covered = lot.end;
      lots.of.push_back(lot);
    }
    if (whole.size() == 0) {
      for (Lot& lot : lots.of) lot = {0, 0};
      lots.of[0].end = count;
      return lots;
    }
    if (covered < count) return std::nullopt;
    return lots;
  }

  /// Matrices that a device has as a whole, as its session names them.
  template <class Pointer>
  BasicMatrixView<Pointer> on_piece(size_t device, const BasicMatrixView<Pointer>& view) {
    if (!view.data) return view;
    const SpreadMemory::Piece& piece = spread(view.memory).pieces[device];
    if (!piece.memory) {  // It has no elements.
      BasicMatrixView<Pointer> nothing = view;
      nothing.memory = spread(view.memory).pieces[0].memory.get();
      return nothing;
    }
    return moved(view, *piece.memory, piece.extent.first);
  }

  /// Copies the bytes of a memory to memory of a device.
  void gather(size_t device, SpreadMemory& from, const Extent& extent, Memory& to) {
    for (size_t step = 0; step < sessions_.size(); ++step) {
      // Each device begins with another one, so that they don't all read from the same.
      const size_t source = (device + step) % sessions_.size();
      const SpreadMemory::Piece& piece = from.pieces[source];
      const int64_t first = std::max(extent.first, piece.extent.first), end = std::min(extent.end, piece.extent.end);
      if (first >= end) continue;
      of_device(device, [&] {
        transfer(device, source, *piece.memory, first - piece.extent.first, to, first - extent.first, end - first);
      });
    }
  }

  /// Matrices where a device can read them: its own piece, or a copy. `kept` must be kept until they have been read.
  MatrixView on(size_t device, const MatrixView& view, DataType dtype, int64_t batch, Kept& kept) {
    if (!view.data || !view.memory) return view;
    SpreadMemory& memory = spread(view.memory);
    const Extent extent = extent_of(view, dtype, batch);
    const SpreadMemory::Piece& piece = memory.pieces[device];
    if (piece.memory && piece.extent.holds(extent)) return moved(view, *piece.memory, piece.extent.first);
    if (extent.size() == 0) return on_piece(device, view);
    if (2 * extent.size() < memory.bytes()) {
      std::shared_ptr<Memory> part = of_device(device, [&] { return sessions_[device]->allocate(extent.size()); });
      gather(device, memory, extent, *part);
      kept.push_back(part);
      return moved(view, *part, extent.first);
    }
    SpreadMemory::Replica& replica = memory.replicas[device];
    if (!replica.is_fresh) {
      // New memory, because nothing must remain known of what was there.
      replica.memory.reset();
      replica.memory = of_device(device, [&] { return sessions_[device]->allocate(memory.bytes()); });
      gather(device, memory, {0, memory.bytes()}, *replica.memory);
      replica.is_fresh = true;
    }
    kept.push_back(replica.memory);
    return moved(view, *replica.memory, 0);
  }

  /// Matrices that aren't divided by rows, on the first device. `put_back` follows.
  Whole fetch_whole(const MutableMatrixView& view, DataType dtype, int64_t batch) {
    const Extent extent = extent_of(view, dtype, batch);
    Whole whole{view, of_device(0, [&] { return sessions_[0]->allocate_for_peers(extent.size()); }), extent};
    gather(0, spread(view.memory), extent, *whole.memory);
    whole.view = moved(view, *whole.memory, extent.first);
    return whole;
  }

  void put_back(const MutableMatrixView& to, const Whole& whole) {
    SpreadMemory& memory = spread(to.memory);
    for (size_t device = 0; device < sessions_.size(); ++device) {
      const SpreadMemory::Piece& piece = memory.pieces[device];
      const int64_t first = std::max(whole.extent.first, piece.extent.first),
                    end = std::min(whole.extent.end, piece.extent.end);
      if (first >= end) continue;
      of_device(device, [&] {
        transfer(device, 0, *whole.memory, first - whole.extent.first, *piece.memory, first - piece.extent.first,
                 end - first);
      });
    }
  }

  std::unique_ptr<Pending> alone(std::unique_ptr<Pending> work, const Kept& kept) {
    std::vector<Joined::Share> shares(1);
    shares[0].works.push_back(std::move(work));
    shares[0].products.push_back({0});
    return std::make_unique<Joined>(std::move(shares), kept, 1);
  }

  /// Starts what `start` starts on each device for its lot.
  template <class Start>
  std::unique_ptr<Pending> each(const Lots& lots, Start&& start) {
    std::vector<Joined::Share> shares(sessions_.size());
    Kept kept;
    for (size_t device = 0; device < sessions_.size(); ++device) {
      if (lots.of[device].size() == 0) continue;
      of_device(device, [&] { shares[device].works.push_back(start(device, lots.of[device], kept)); });
      shares[device].products.push_back({});
    }
    return std::make_unique<Joined>(std::move(shares), std::move(kept), 0);
  }

  /// Starts what `start` starts for the rows of `to` that each device has; if they aren't divided by rows, on the first.
  template <class Start>
  std::unique_ptr<Pending> write(DataType dtype, int64_t batch, const MutableMatrixView& to, Start&& start) {
    spread(to.memory).written();
    const std::optional<Lots> lots = lots_of(to, dtype, batch);
    if (lots) {
      return each(*lots, [&](size_t device, const Lot& lot, Kept& kept) {
        const Part part{lots->by_instances, lot};
        return start(device, lots->batch(batch, lot), on_piece(device, part.of(to, dtype)), part, kept);
      });
    }
    Kept kept;
    const Whole whole = fetch_whole(to, dtype, batch);
    kept.push_back(whole.memory);
    const Part all{false, {0, to.rows}};
    std::unique_ptr<Pending> work = of_device(0, [&] { return start(0, batch, whole.view, all, kept); });
    put_back(to, whole);
    return alone(std::move(work), kept);
  }

  /// Throws Error(kValue) as a session does for the whole matrix.
  void require_elements_of(const Operation& operation, int64_t batch, const MatrixView& view, const char* name) {
    if (!range(operation, batch, view).has_outsider) return;
    const int64_t rows = view.rows, cols = view.cols, bytes = stored_bytes(operation.dtype, view.storage);
    const int64_t items = items_of(view, batch);
    std::vector<char> copy(static_cast<size_t>(items * rows * cols * bytes));
    MutableMatrixView to = row_major<void*>(copy.data(), rows, cols);
    to.storage = view.storage;
    download(operation.dtype, items, view, to, nullptr)->finish();
    if (items == 1) to.batch_stride = 0;
    require_elements(operation, read_only(to), batch, name);
  }

  /// A part has other indices than the message must name.
  void require_elements_of_operands(const Problem& problem) {
    if (!restricts_elements(problem.operation) || problem.known) return;
    const std::pair<const MatrixView*, const char*> operands[] = {
        {&problem.c0, "accumulate"}, {&problem.a, "a"}, {&problem.b, "b"}};
    for (const auto& [view, name] : operands) {
      if (view->data && view->memory) require_elements_of(problem.operation, problem.batch, *view, name);
    }
  }

  /// Starts a product on a device, of which all matrices are there.
  std::unique_ptr<Pending> multiply_on(size_t device, const Problem& problem, const Placement& where, Kept& kept) {
    auto problems = std::make_shared<std::vector<Problem>>(1, problem);
    kept.push_back(problems);
    return of_device(device, [&] { return multiply_(*sessions_[device], *problems, place(device, where)); });
  }

  /// The lots of C, if the witness is divided in the same way.
  std::optional<Lots> lots_of_product(const Problem& problem);
  /// The part of a product that a device computes, where it has its rows.
  Problem part_on(size_t device, const Problem& problem, const Lots& lots, Kept& kept);

  std::vector<std::unique_ptr<Session>> sessions_;
  const std::vector<int> numbers_;
  const std::vector<double> speeds_;
  const int64_t least_bytes_;
  const Multiply multiply_;
  int64_t next_address_ = 0;
  Exchange* exchange_ = nullptr;  ///< that is under way
  DeviceThreads threads_;
};

std::optional<SpreadSession::Lots> SpreadSession::lots_of_product(const Problem& problem) {
  const std::optional<Lots> lots = lots_of(problem.c, problem.operation.dtype, problem.batch);
  if (!lots || !problem.witness.data) return lots;
  const std::optional<Lots> others = lots_of(problem.witness, DataType::kInt32, problem.batch);
  if (!others) return std::nullopt;
  for (size_t device = 0; device < sessions_.size(); ++device) {
    const Lot &lot = lots->of[device], &other = others->of[device];
    if (lot.size() != other.size() || (lot.size() > 0 && lot.first != other.first)) return std::nullopt;
  }
  return lots;
}

Problem SpreadSession::part_on(size_t device, const Problem& problem, const Lots& lots, Kept& kept) {
  const DataType dtype = problem.operation.dtype;
  const Part part{lots.by_instances, lots.of[device]};
  const int64_t batch = lots.batch(problem.batch, part.lot);
  Problem there = problem;
  there.batch = batch;
  there.a = on(device, part.of(problem.a, dtype), dtype, batch, kept);
  MatrixView b = problem.b;
  if (lots.by_instances) b = part.of(b, dtype);
  there.b = on(device, b, dtype, batch, kept);
  there.c = on_piece(device, part.of(problem.c, dtype));
  there.c0 = on(device, part.of(problem.c0, dtype), dtype, batch, kept);
  if (problem.witness.data) there.witness = on_piece(device, part.of(problem.witness, DataType::kInt32));
  there.through = on(device, part.of(problem.through, DataType::kInt32), DataType::kInt32, batch, kept);
  if (!lots.by_instances) there.structure = problem.structure.from(lots.of[device].first, 0);
  return there;
}

std::unique_ptr<Pending> SpreadSession::multiply(const std::vector<Problem>& problems, const Placement& where) {
  std::vector<Joined::Share> shares(sessions_.size());
  Kept kept;
  for (size_t index = 0; index < problems.size(); ++index) {
    const Problem& problem = problems[index];
    const DataType dtype = problem.operation.dtype;
    try {
      require_elements_of_operands(problem);
      const std::optional<Lots> lots = lots_of_product(problem);
      if (!lots) {
        Problem there = problem;
        const Whole c = fetch_whole(problem.c, dtype, problem.batch);
        kept.push_back(c.memory);
        there.c = c.view;
        const bool in_place = problem.c0.data == problem.c.data && problem.c0.memory == problem.c.memory;
        there.c0 =
            in_place ? moved(problem.c0, *c.memory, c.extent.first) : on(0, problem.c0, dtype, problem.batch, kept);
        there.a = on(0, problem.a, dtype, problem.batch, kept);
        there.b = on(0, problem.b, dtype, problem.batch, kept);
        there.through = on(0, problem.through, DataType::kInt32, problem.batch, kept);
        std::optional<Whole> witness;
        if (problem.witness.data) {
          witness = fetch_whole(problem.witness, DataType::kInt32, problem.batch);
          kept.push_back(witness->memory);
          there.witness = witness->view;
        }
        shares[0].works.push_back(multiply_on(0, there, where, kept));
        shares[0].products.push_back({index});
        spread(problem.c.memory).written();
        put_back(problem.c, c);
        if (!witness) continue;
        spread(problem.witness.memory).written();
        put_back(problem.witness, *witness);
        continue;
      }
      // Somebody must say what computes a product without results.
      const auto has_work = [&](size_t device) {
        return lots->of[device].size() > 0 || (device == 0 && problem.outputs() == 0);
      };
      std::vector<Problem> parts(sessions_.size());
      std::vector<Kept> copies(sessions_.size());
      size_t busy = 0;
      for (size_t device = 0; device < sessions_.size(); ++device) busy += has_work(device);
      const auto prepare = [&](size_t device) {
        if (has_work(device)) parts[device] = part_on(device, problem, *lots, copies[device]);
      };
      if (busy > 1) {
        exchange(prepare);
      } else {
        for (size_t device = 0; device < sessions_.size(); ++device) prepare(device);
      }
      for (const Kept& copy : copies) kept.insert(kept.end(), copy.begin(), copy.end());
      Placement place_of_part = where;
      if (busy > 1 && !lots->by_instances) {
        place_of_part.whole_m = problem.m();
        place_of_part.whole_n = problem.n();
      }
      // C changes only if all parts have been started.
      const bool is_apart = busy > 1 && problem.keeps_c;
      struct OnDevice {
        MutableMatrixView target;
        std::shared_ptr<Memory> apart;
        std::unique_ptr<Pending> work;
        Kept kept;
        std::optional<int64_t> overflow;
        int64_t sum = 0;
      };
      std::vector<OnDevice> there(sessions_.size());
      threads_.run([&](size_t device) {
        const Lot& lot = lots->of[device];
        if (!has_work(device)) return;
        OnDevice& mine = there[device];
        Problem& part = parts[device];
        mine.target = part.c;
        if (is_apart) {
          mine.apart =
              of_device(device, [&] { return sessions_[device]->allocate(part.outputs() * element_bytes(dtype)); });
          mine.kept.push_back(mine.apart);
          part.c = row_major(mine.apart->data(), part.m(), part.n());
          part.c.memory = mine.apart.get();
          part.keeps_c = false;
          if (!part.structure.c.is_all(part.m(), part.n())) {
            // What is outside stays as it is, though the whole is copied back.
            of_device(device,
                      [&] { sessions_[device]->copy(dtype, part.batch, read_only(mine.target), part.c)->finish(); });
          }
        }
        try {
          mine.work = multiply_on(device, part, place_of_part, mine.kept);
        } catch (const OverflowError& error) {
          const OverflowError::Place& at = error.place();
          const int64_t item = std::max<int64_t>(at.item, 0) + (lots->by_instances ? lot.first : 0);
          const int64_t row = at.row + (lots->by_instances ? 0 : lot.first);
          mine.overflow = (item * problem.m() + row) * problem.n() + at.col;
          mine.sum = error.sum();
        }
      });
      spread(problem.c.memory).written();
      if (problem.witness.data) spread(problem.witness.memory).written();
      const OnDevice* first = nullptr;
      for (const OnDevice& it : there) {
        if (it.overflow && (!first || *it.overflow < *first->overflow)) first = &it;
      }
      if (first) {
        const int64_t at = *first->overflow, m = problem.m(), n = problem.n();
        throw OverflowError(problem.operation, {problem.batch > 1 ? at / n / m : -1, at / n % m, at % n}, first->sum);
      }
      for (size_t device = 0; device < sessions_.size(); ++device) {
        OnDevice& it = there[device];
        if (!it.work) continue;
        kept.insert(kept.end(), it.kept.begin(), it.kept.end());
        shares[device].works.push_back(std::move(it.work));
        shares[device].products.push_back({index});
        if (!is_apart) continue;
        const Problem& part = parts[device];
        of_device(device, [&] {
          shares[device].works.push_back(sessions_[device]->copy(dtype, part.batch, read_only(part.c), it.target));
        });
        shares[device].products.push_back({});
      }
    } catch (const Error& error) {
      if (problems.size() == 1) throw;
      throw Error(error.code(), error.what(), index);
    }
  }
  return std::make_unique<Joined>(std::move(shares), std::move(kept), problems.size());
}

}  // namespace

std::unique_ptr<Session> spread_over(SpreadDevices devices) {
  return std::make_unique<SpreadSession>(std::move(devices));
}

}  // namespace mpmml
