#include "core/devices/sharding.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/algebra/dispatch.h"
#include "core/devices/joint_work.h"
#include "core/devices/sharded_memory.h"
#include "core/devices/sharded_product.h"
#include "core/status.h"

namespace mpmml {
namespace {

class MultiDeviceSession final : public Session {
 public:
  explicit MultiDeviceSession(ShardedDevices devices) : peers_(std::move(devices)) {}

  BackendKind backend() const override { return peers_.backend(); }
  int device() const override { return peers_.session(0).device(); }
  std::vector<int> devices() const override { return peers_.numbers(); }
  PeerTransfers* peers() override { return &peers_; }
  std::string name() const override {
    std::string names;
    for (size_t device = 0; device < peers_.count(); ++device) {
      const std::string name = peers_.session(device).name();
      if (names.find(name) == std::string::npos || names.empty()) names += (names.empty() ? "" : ", ") + name;
    }
    return names;
  }
  bool works_at_once() const override {
    for (size_t device = 0; device < peers_.count(); ++device) {
      if (!peers_.session(device).works_at_once()) return false;
    }
    return true;
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
      // Several sessions may use the same GPU.
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
    const auto regions = peers_.regions_of(to, dtype, batch);
    if (!regions) {
      Whole whole = peers_.fetch_whole(to, dtype, batch);
      peers_.of_device(0, [&] { peers_.session(0).upload(dtype, batch, from, whole.view, cancelled); });
      return peers_.put_back(to, whole);
    }
    peers_.each(*regions, [&](size_t device, const Region& region) {
      peers_.session(device).upload(dtype, region.items.size(), sub(from, dtype, region),
                                    peers_.on_piece(device, sub(to, dtype, region)), cancelled);
    });
  }

  std::unique_ptr<Pending> download(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
                                    const std::atomic<int32_t>* cancelled) override {
    auto started = std::make_unique<JointWork>(peers_);
    const auto regions = peers_.regions_of(from, dtype, batch);
    if (!regions) {
      const MatrixView whole = peers_.on(0, from, dtype, batch, started->kept());
      started->add(
          {0, peers_.of_device(0, [&] { return peers_.session(0).download(dtype, batch, whole, to, cancelled); })});
      return started;
    }
    std::vector<std::unique_ptr<Pending>> works(peers_.count());
    peers_.each(*regions, [&](size_t device, const Region& region) {
      works[device] =
          peers_.session(device).download(dtype, region.items.size(), peers_.on_piece(device, sub(from, dtype, region)),
                                          sub(to, dtype, region), cancelled);
    });
    for (size_t device = 0; device < works.size(); ++device) {
      if (works[device]) started->add({device, std::move(works[device])});
    }
    return started;
  }

  std::unique_ptr<Pending> fill(DataType dtype, int64_t batch, const MutableMatrixView& to, double value) override {
    return write({to, dtype}, {}, batch, [&](Session& session, int64_t items, const MutableMatrixView& part, auto&) {
      return session.fill(dtype, items, part, value);
    });
  }

  std::unique_ptr<Pending> combine(const Operation& operation, int64_t batch, const MutableMatrixView& c,
                                   const MatrixView& d) override {
    // All elements must be validated before any device changes its rows.
    if (restricts_elements(operation)) {
      require_elements_of(*this, operation, batch, read_only(c), {}, "the matrix");
      require_elements_of(*this, operation, batch, d, {}, "d");
    }
    return write({c, operation.dtype}, {d, operation.dtype}, batch,
                 [&](Session& session, int64_t items, const MutableMatrixView& part, const MatrixView& other) {
                   return session.combine(operation, items, part, other);
                 });
  }

  std::unique_ptr<Pending> copy(DataType dtype, int64_t batch, const MatrixView& from,
                                const MutableMatrixView& to) override {
    return write({to, dtype}, {from, dtype}, batch,
                 [&](Session& session, int64_t items, const MutableMatrixView& part, const MatrixView& source) {
                   return session.copy(dtype, items, source, part);
                 });
  }

  void receive(Session&, const Memory&, int64_t, Memory&, int64_t, int64_t) override {
    throw Error(ErrorCode::kDevice, "matrices can't be spread twice");
  }

  ValueRange range(const Operation& operation, int64_t batch, const MatrixView& matrix) override {
    const DataType dtype = operation.dtype;
    const auto regions = peers_.regions_of(matrix, dtype, batch);
    if (!regions) {
      Kept kept;
      const MatrixView whole = peers_.on(0, matrix, dtype, batch, kept);
      return peers_.of_device(0, [&] { return peers_.session(0).range(operation, batch, whole); });
    }
    std::vector<std::optional<ValueRange>> ranges(peers_.count());
    peers_.each(*regions, [&](size_t device, const Region& region) {
      ranges[device] = peers_.session(device).range(operation, region.items.size(),
                                                    peers_.on_piece(device, sub(matrix, dtype, region)));
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
    const auto regions = peers_.regions_of(matrix, dtype, batch);
    if (!regions) return Session::find_nan(dtype, batch, matrix);
    std::vector<std::optional<int64_t>> found(peers_.count());
    peers_.each(*regions, [&](size_t device, const Region& region) {
      found[device] = peers_.session(device).find_nan(dtype, region.items.size(),
                                                      peers_.on_piece(device, sub(matrix, dtype, region)));
    });
    for (size_t device = 0; device < peers_.count(); ++device) {
      if (found[device]) return index_in_whole((*regions)[device], matrix.rows, matrix.cols, *found[device]);
    }
    return std::nullopt;
  }

  int64_t max_pivots(const Operation& operation) const override { return peers_.session(0).max_pivots(operation); }

  std::unique_ptr<Pending> eliminate(const Pivots&) override {
    throw std::logic_error("each of several devices eliminates pivots by itself");
  }

  std::unique_ptr<Pending> set_successors(const Operation& operation, int64_t batch, const MatrixView& d,
                                          const MutableMatrixView& next) override {
    return write({next, DataType::kInt32}, {d, operation.dtype}, batch,
                 [&](Session& session, int64_t items, const MutableMatrixView& part, const MatrixView& ways) {
                   return session.set_successors(operation, items, ways, part);
                 });
  }

  std::unique_ptr<Pending> mark_tight_edges(const NextNodes& successors) override {
    return write_next(successors, {0, 0},
                      [](Session& session, const NextNodes& part) { return session.mark_tight_edges(part); });
  }

  /// Waits. Each device gets the distances of a limited number of nodes at a time, because the distances of all nodes
  /// may exceed its memory.
  std::unique_ptr<Pending> find_next_nodes(const NextNodes& successors) override {
    constexpr int64_t kBytesAtOnce = 1 << 28;
    const MatrixView& via = successors.via;
    const int64_t at_once = successors.batch > 1
                                ? via.rows
                                : std::clamp(kBytesAtOnce / (via.cols * element_bytes(successors.operation.dtype)),
                                             int64_t{1}, ceil_div(via.rows, 4));
    for (int64_t first = 0; first < via.rows; first += at_once) {
      const Span nodes{first, std::min(first + at_once, via.rows)};
      write_next(successors, nodes, [](Session& session, const NextNodes& part) {
        return session.find_next_nodes(part);
      })->finish();
    }
    return std::make_unique<Done>();
  }

  std::unique_ptr<Pending> multiply(Problems problems, const Placement& where) override {
    return mpmml::multiply(peers_, *this, problems, where);
  }

  Plan plan(const Problem& problem, const Placement& where) override { return mpmml::plan(peers_, problem, where); }

  std::unique_ptr<Pending> multiply_user(const UserProduct& product, const Placement& where) override {
    return mpmml::multiply_user(peers_, *this, product, where);
  }

  std::string explain_user(const UserProduct& product, const Placement& where) override {
    return peers_.session(0).explain_user(product, peers_.place(0, where));
  }

 private:
  template <class View>
  struct Typed {
    View view;
    DataType dtype = DataType::kInt32;
  };

  /// Calls `start` for each device with its shard of `to` and the corresponding part of `from`, which may be null. If
  /// `to` isn't sharded by rows or batch entries, calls `start` on the first device for the whole. All devices have
  /// their operands before any of them starts, so nothing has changed if memory is insufficient for one.
  template <class Start>
  std::unique_ptr<Pending> write(const Typed<MutableMatrixView>& to, const Typed<MatrixView>& from, int64_t batch,
                                 Start&& start) {
    const Writing writing(to.view.memory);
    auto started = std::make_unique<JointWork>(peers_);
    Kept& kept = started->kept();
    const auto regions = peers_.regions_of(to.view, to.dtype, batch);
    if (!regions) {
      const Whole all = peers_.fetch_whole(to.view, to.dtype, batch);
      kept.push_back(all.memory);
      const MatrixView source = peers_.on(0, from.view, from.dtype, batch, kept);
      started->add({0, peers_.of_device(0, [&] { return start(peers_.session(0), batch, all.view, source); })});
      peers_.put_back(to.view, all);
      return started;
    }
    std::vector<MatrixView> sources(peers_.count());
    for (size_t device = 0; device < peers_.count(); ++device) {
      const Region& region = (*regions)[device];
      if (region.is_empty()) continue;
      sources[device] = peers_.on(device, sub(from.view, from.dtype, region), from.dtype, region.items.size(), kept);
    }
    for (size_t device = 0; device < peers_.count(); ++device) {
      const Region& region = (*regions)[device];
      if (region.is_empty()) continue;
      const MutableMatrixView part = peers_.on_piece(device, sub(to.view, to.dtype, region));
      started->add({device, peers_.of_device(device, [&] {
                      return start(peers_.session(device), region.items.size(), part, sources[device]);
                    })});
    }
    return started;
  }

  /// Calls `start` for each device with its shard of the next nodes, for paths through `nodes`. If they aren't sharded
  /// by rows, calls `start` on the first device for the whole.
  template <class Start>
  std::unique_ptr<Pending> write_next(const NextNodes& all, Span nodes, Start&& start) {
    const DataType dtype = all.operation.dtype;
    const Writing writing(all.next.memory);
    auto started = std::make_unique<JointWork>(peers_);
    Kept& kept = started->kept();
    const auto divided = peers_.regions_of(all.next, DataType::kInt32, all.batch);
    std::optional<Whole> undivided;
    if (!divided) {
      undivided = peers_.fetch_whole(all.next, DataType::kInt32, all.batch);
      kept.push_back(undivided->memory);
    }
    const std::vector<Region> regions = divided.value_or(std::vector<Region>{whole(all.next, all.batch)});
    std::vector<NextNodes> parts(regions.size(), all);
    for (size_t device = 0; device < regions.size(); ++device) {
      const Region& region = regions[device];
      if (region.is_empty()) continue;
      const int64_t items = region.items.size();
      const auto read = [&](const MatrixView& view, Span rows) {
        return peers_.on(device, sub(view, dtype, {region.items, rows, region.cols}), dtype, items, kept);
      };
      NextNodes& part = parts[device];
      part.batch = items;
      part.d = read(all.d, region.rows);
      part.first_row += region.rows.first;
      part.next = undivided ? undivided->view : peers_.on_piece(device, sub(all.next, DataType::kInt32, region));
      part.via = read(all.via, nodes);
      part.first_via += nodes.first;
    }
    for (size_t device = 0; device < regions.size(); ++device) {
      if (regions[device].is_empty()) continue;
      started->add({device, peers_.of_device(device, [&] { return start(peers_.session(device), parts[device]); })});
    }
    if (undivided) peers_.put_back(all.next, *undivided);
    return started;
  }

  PeerTransfers peers_;
};

}  // namespace

std::unique_ptr<Session> open_sharded(ShardedDevices devices) {
  return std::make_unique<MultiDeviceSession>(std::move(devices));
}

}  // namespace mpmml
