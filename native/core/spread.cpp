#include "core/spread.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/dispatch.h"
#include "core/joined.h"
#include "core/spread_memory.h"
#include "core/spread_product.h"
#include "core/status.h"

namespace mpmml {
namespace {

class SpreadSession final : public Session {
 public:
  explicit SpreadSession(SpreadDevices devices) : peers_(std::move(devices)) {}

  BackendKind backend() const override { return peers_.backend(); }
  int device() const override { return peers_.session(0).device(); }
  std::vector<int> devices() const override { return peers_.numbers(); }
  Peers* peers() override { return &peers_; }
  std::string name() const override {
    std::string names;
    for (size_t device = 0; device < peers_.count(); ++device) {
      const std::string name = peers_.session(device).name();
      if (names.find(name) == std::string::npos || names.empty()) names += (names.empty() ? "" : ", ") + name;
    }
    return names;
  }

  void set_cancelled(const std::atomic<int32_t>* cancelled) override {
    for (size_t index = 0; index < peers_.count(); ++index) peers_.session(index).set_cancelled(cancelled);
  }

  MemoryUse memory_use() override {
    MemoryUse all{};
    for (size_t index = 0; index < peers_.count(); ++index) {
      const MemoryUse use = peers_.memory_use(index);
      all.used += use.used;
      all.reserved += use.reserved;
      all.peak += use.peak;
      all.free += use.free;
      all.total += use.total;
      // Pretended devices have the same memory.
      if (peers_.session(index).device() == device() && index > 0) {
        all.free -= use.free;
        all.total -= use.total;
      }
    }
    return all;
  }

  void collect() override {
    for (size_t device = 0; device < peers_.count(); ++device) peers_.collect(device);
  }

  std::shared_ptr<Memory> allocate(int64_t bytes) override { return allocate_units(1, bytes); }

  std::shared_ptr<Memory> allocate_units(int64_t units, int64_t unit_bytes) override {
    return peers_.allocate(units, unit_bytes);
  }

  void upload(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
              const std::atomic<int32_t>* cancelled) override {
    const Writing writing(to.memory);
    const std::optional<Lots> lots = peers_.lots_of(to, dtype, batch);
    if (!lots) {
      Whole whole = peers_.fetch_whole(to, dtype, batch);
      peers_.of_device(0, [&] { peers_.session(0).upload(dtype, batch, from, whole.view, cancelled); });
      return peers_.put_back(to, whole);
    }
    peers_.run([&](size_t device) {
      const Lot& lot = lots->of[device];
      if (lot.size() == 0) return;
      peers_.of_device(device, [&] {
        peers_.session(device).upload(dtype, lots->batch(batch, lot), lot_of(from, dtype, lots->by_instances, lot),
                                      peers_.on_piece(device, lot_of(to, dtype, lots->by_instances, lot)), cancelled);
      });
    });
  }

  std::unique_ptr<Pending> download(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
                                    const std::atomic<int32_t>* cancelled) override {
    const std::optional<Lots> lots = peers_.lots_of(from, dtype, batch);
    if (!lots) {
      Kept kept;
      const MatrixView whole = peers_.on(0, from, dtype, batch, kept);
      return alone(peers_.of_device(0, [&] { return peers_.session(0).download(dtype, batch, whole, to, cancelled); }),
                   kept);
    }
    // At the same time: each makes streams and pinned memory, if there are none from earlier copies.
    std::vector<Joined::Share> shares(peers_.count());
    peers_.run([&](size_t device) {
      const Lot& lot = lots->of[device];
      if (lot.size() == 0) return;
      peers_.of_device(device, [&] {
        shares[device].works.push_back(peers_.session(device).download(
            dtype, lots->batch(batch, lot), peers_.on_piece(device, lot_of(from, dtype, lots->by_instances, lot)),
            lot_of(to, dtype, lots->by_instances, lot), cancelled));
      });
      shares[device].products.push_back({});
    });
    return std::make_unique<Joined>(std::move(shares), Kept(), 0);
  }

  std::unique_ptr<Pending> fill(DataType dtype, int64_t batch, const MutableMatrixView& to, double value) override {
    return write(dtype, batch, to,
                 [&](size_t device, int64_t items, const MutableMatrixView& part, const Part&, Kept&) {
                   return peers_.session(device).fill(dtype, items, part, value);
                 });
  }

  std::unique_ptr<Pending> combine(const Operation& operation, int64_t batch, const MutableMatrixView& c,
                                   const MatrixView& d) override {
    const DataType dtype = operation.dtype;
    // Before any device changes its rows, all elements must be known to be right.
    if (restricts_elements(operation)) {
      require_elements_of(*this, operation, batch, read_only(c), {}, "the matrix");
      require_elements_of(*this, operation, batch, d, {}, "d");
    }
    return write(dtype, batch, c,
                 [&](size_t device, int64_t items, const MutableMatrixView& part, const Part& at, Kept& kept) {
                   return peers_.session(device).combine(operation, items, part,
                                                         peers_.on(device, at.of(d, dtype), dtype, items, kept));
                 });
  }

  std::unique_ptr<Pending> copy(DataType dtype, int64_t batch, const MatrixView& from,
                                const MutableMatrixView& to) override {
    return write(dtype, batch, to,
                 [&](size_t device, int64_t items, const MutableMatrixView& part, const Part& at, Kept& kept) {
                   return peers_.session(device).copy(dtype, items,
                                                      peers_.on(device, at.of(from, dtype), dtype, items, kept), part);
                 });
  }

  void receive(Session&, const Memory&, int64_t, Memory&, int64_t, int64_t) override {
    throw Error(ErrorCode::kDevice, "matrices can't be spread twice");
  }

  ValueRange range(const Operation& operation, int64_t batch, const MatrixView& matrix) override {
    const DataType dtype = operation.dtype;
    const std::optional<Lots> lots = peers_.lots_of(matrix, dtype, batch);
    if (!lots) {
      Kept kept;
      const MatrixView whole = peers_.on(0, matrix, dtype, batch, kept);
      return peers_.of_device(0, [&] { return peers_.session(0).range(operation, batch, whole); });
    }
    std::vector<std::optional<ValueRange>> ranges(peers_.count());
    peers_.run([&](size_t device) {
      const Lot& lot = lots->of[device];
      if (lot.size() == 0) return;
      peers_.of_device(device, [&] {
        ranges[device] =
            peers_.session(device).range(operation, lots->batch(batch, lot),
                                         peers_.on_piece(device, lot_of(matrix, dtype, lots->by_instances, lot)));
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

  std::optional<int64_t> find_nan(DataType dtype, int64_t batch, const MatrixView& matrix) override {
    const std::optional<Lots> lots = peers_.lots_of(matrix, dtype, batch);
    if (!lots) return Session::find_nan(dtype, batch, matrix);
    std::vector<std::optional<int64_t>> found(peers_.count());
    peers_.run([&](size_t device) {
      const Lot& lot = lots->of[device];
      if (lot.size() == 0) return;
      peers_.of_device(device, [&] {
        found[device] = peers_.session(device).find_nan(
            dtype, lots->batch(batch, lot), peers_.on_piece(device, lot_of(matrix, dtype, lots->by_instances, lot)));
      });
    });
    const int64_t unit = (lots->by_instances ? matrix.rows : 1) * matrix.cols;
    for (size_t device = 0; device < peers_.count(); ++device) {
      if (found[device]) return lots->of[device].first * unit + *found[device];
    }
    return std::nullopt;
  }

  int64_t most_pivots(const Operation& operation) const override { return peers_.session(0).most_pivots(operation); }

  std::unique_ptr<Pending> pass(const Pivots&) override {
    throw std::logic_error("each of several devices passes pivots by itself");
  }

  std::unique_ptr<Pending> point(const Operation& operation, int64_t batch, const MatrixView& d,
                                 const MutableMatrixView& next) override {
    return write(DataType::kInt32, batch, next,
                 [&](size_t device, int64_t items, const MutableMatrixView& part, const Part& at, Kept& kept) {
                   return peers_.session(device).point(
                       operation, items, peers_.on(device, at.of(d, operation.dtype), operation.dtype, items, kept),
                       part);
                 });
  }

  std::unique_ptr<Pending> multiply(const std::vector<Problem>& problems, const Placement& where) override {
    return mpmml::multiply(peers_, *this, problems, where);
  }

  Plan plan(const Problem& problem, const Placement& where) override { return mpmml::plan(peers_, problem, where); }

 private:
  std::unique_ptr<Pending> alone(std::unique_ptr<Pending> work, const Kept& kept) {
    std::vector<Joined::Share> shares(1);
    shares[0].works.push_back(std::move(work));
    shares[0].products.push_back({0});
    return std::make_unique<Joined>(std::move(shares), kept, 1);
  }

  /// Starts what `start` starts on each device for its lot.
  template <class Start>
  std::unique_ptr<Pending> each(const Lots& lots, Start&& start) {
    std::vector<Joined::Share> shares(peers_.count());
    Kept kept;
    for (size_t device = 0; device < peers_.count(); ++device) {
      if (lots.of[device].size() == 0) continue;
      peers_.of_device(device, [&] { shares[device].works.push_back(start(device, lots.of[device], kept)); });
      shares[device].products.push_back({});
    }
    return std::make_unique<Joined>(std::move(shares), std::move(kept), 0);
  }

  /// Starts what `start` starts for the rows of `to` that each device has; if they aren't divided by rows, on the first.
  template <class Start>
  std::unique_ptr<Pending> write(DataType dtype, int64_t batch, const MutableMatrixView& to, Start&& start) {
    const Writing writing(to.memory);
    const std::optional<Lots> lots = peers_.lots_of(to, dtype, batch);
    if (lots) {
      return each(*lots, [&](size_t device, const Lot& lot, Kept& kept) {
        const Part part{lots->by_instances, lot};
        return start(device, lots->batch(batch, lot), peers_.on_piece(device, part.of(to, dtype)), part, kept);
      });
    }
    Kept kept;
    const Whole whole = peers_.fetch_whole(to, dtype, batch);
    kept.push_back(whole.memory);
    const Part all{false, {0, to.rows}};
    std::unique_ptr<Pending> work = peers_.of_device(0, [&] { return start(0, batch, whole.view, all, kept); });
    peers_.put_back(to, whole);
    return alone(std::move(work), kept);
  }

  Peers peers_;
};

}  // namespace

std::unique_ptr<Session> spread_over(SpreadDevices devices) {
  return std::make_unique<SpreadSession>(std::move(devices));
}

}  // namespace mpmml
