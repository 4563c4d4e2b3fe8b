// Closure of one matrix on multiple devices, by groups of pivots. The device with the rows of a group is its owner. For
// each group:
//
//   the owner sends each device the pivots' rows in the columns of the pivots and in a share of the other columns;
//   each device eliminates the pivots in that panel, and in its own rows' columns of the pivots;
//   the devices exchange their records of the pivots' rows;
//   each device multiplies its recorded columns by the complete pivot rows, and accumulates the product into its rows.
//
// Everything except the block of the pivots is computed once, and divided among the devices. Elements of d change only
// by the product, which has the candidates of all pivots of the group. Therefore the result equals that of one device.
//
// Large products update the rows and the columns of the next pivots first and distribute them (lookahead, as in blocked
// LU). A second session of higher priority eliminates them during the rest of the product, so that these small steps
// cost little time.
#include <algorithm>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

#include "core/algebra/dispatch.h"
#include "core/closure/methods.h"
#include "core/closure/steps.h"
#include "core/devices/joint_work.h"
#include "core/host/clock.h"
#include "core/status.h"

namespace mpmml {
namespace {

/// Alignment of the rows of buffers in elements, with which kernels load whole chunks.
constexpr int64_t kRowAlignment = 32;

/// A group of pivots, and the device with their rows.
struct Group {
  Span pivots;
  size_t owner, index;
};

class ClosureByRows final : public Pending {
 public:
  ClosureByRows(PeerTransfers& peers, const Closure& closure, const std::vector<Region>& regions,
                const Placement& where)
      : peers_(peers), closure_(closure), where_(where), n_(closure.d.rows), known_(closure.operation, closure.known) {
    for (size_t device = 0; device < peers.count(); ++device) {
      const Span rows = regions[device].rows;
      if (rows.is_empty()) continue;
      sharers_.emplace_back(sharers_.size(), device, rows, closure.steps_done);
      sharers_.back().known = known_.range();
      max_pivots_of_group_ = std::max(max_pivots_of_group_, std::min(rows.size(), kMaxPivotsOfGroup));
    }
  }

  ~ClosureByRows() override {
    // Queued work of one device may read memory of others.
    if (!is_finished_) {
      for (const DeviceShard& each : sharers_) peers_.collect(each.device);
    }
    for (DeviceShard& each : sharers_) {
      each.memories.clear();
      if (has_lookahead_) ahead(each).collect();
    }
  }

  void start() {
    max_pivots_ = session(sharers_.front()).max_pivots(closure_.operation);
    for (const DeviceShard& owner : sharers_) {
      for (int64_t first = owner.rows.first; first < owner.rows.end; first += kMaxPivotsOfGroup) {
        const Span pivots{first, std::min(first + kMaxPivotsOfGroup, owner.rows.end)};
        groups_.push_back({pivots, owner.index, groups_.size()});
      }
    }
    for (const DeviceShard& sharer : sharers_) {
      has_lookahead_ |= steps_of(sharer, groups_.front()) >= peers_.limits().steps_worth_ahead;
    }
    each([&](DeviceShard& me) {
      if (has_lookahead_) peers_.open_ahead(me.device);
      make_memory(me);
      hand_out(me, groups_.front());
    });
    for (const Group& group : groups_) {
      each([&](DeviceShard& me) { eliminate(me, group); });
      each([&](DeviceShard& me) {
        assemble(me, group);
        improve(me, group);
      });
      tighten(group);
      if (goes_too_far_) break;
    }
    each([&](DeviceShard& me) { end(me); });
  }

  bool goes_too_far() const { return goes_too_far_; }

  bool is_done() override {
    bool all = true;
    for (DeviceShard& each : sharers_) all &= each.in_flight.is_done();
    return all;
  }

  std::vector<Outcome> finish() override {
    std::exception_ptr failure;
    for (DeviceShard& each : sharers_) {
      try {
        peers_.of_device(each.device, [&] { each.in_flight.finish(); });
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
    is_finished_ = true;
    Outcome outcome;
    // All devices have the same result.
    if (found_ != kNoGain) outcome.gain = found_;
    outcome.timing.kernel = milliseconds_since(start_);
    return {outcome};
  }

 private:
  /// A device with rows of d, and its buffers for their closure.
  struct DeviceShard {
    DeviceShard(size_t its_index, size_t its_device, Span its_rows, std::atomic<double>* steps_done)
        : index(its_index), device(its_device), rows(its_rows), in_flight(steps_done) {}

    const size_t index, device;
    const Span rows;            ///< rows of d; columns with these indices are its share of the pivots' rows
    MutableMatrixView d, next;  ///< rows of this device
    std::vector<std::shared_ptr<Memory>> memories;  ///< memory of the following matrices
    /// `along`: the pivots' rows, in the columns of the pivots and of this device's share. `down`: the pivots' columns,
    /// in the pivots' rows and in this device's rows.
    MutableMatrixView along, next_along, down, next_down;
    /// Recorded rows and columns of a group. They are read during the elimination of the next group, so they are
    /// double-buffered.
    struct Record {
      MutableMatrixView share;    ///< recorded part of `along`
      MutableMatrixView columns;  ///< recorded part of `down`
      MutableMatrixView next_columns;
      MutableMatrixView all_rows;  ///< the pivots' rows from all devices
      MutableMatrixView both;      ///< matrix that contains `columns` and `all_rows`
    } records[2];
    std::vector<MutableMatrixView> outbox;  ///< for the owner: the panel of the pivots' rows for each device
    std::vector<MutableMatrixView> inbox;   ///< recorded share of the pivots' rows from each device
    MutableMatrixView gain;
    /// Events: the next group has been distributed; its share has been recorded; all of its rows have been recorded.
    std::shared_ptr<StreamEvent> handed_out, eliminated, assembled;
    ValueRange known;                    ///< range of d
    std::optional<ValueRange> operands;  ///< range of the records of the group, once scanned
    ValueRange found;                    ///< range of this device's rows of d
    InFlightWork in_flight;              ///< last member: pending work uses the others
  };

  DataType dtype() const { return closure_.operation.dtype; }
  Session& session(const DeviceShard& sharer) const { return peers_.session(sharer.device); }
  Session& ahead(const DeviceShard& sharer) const {
    return has_lookahead_ ? peers_.ahead(sharer.device) : session(sharer);
  }
  static DeviceShard::Record& record(DeviceShard& sharer, const Group& group) {
    return sharer.records[group.index % 2];
  }
  static const DeviceShard::Record& record(const DeviceShard& sharer, const Group& group) {
    return sharer.records[group.index % 2];
  }

  /// Calls `body(sharer)` for all devices concurrently.
  template <class Body>
  void each(Body&& body) {
    require_wanted(closure_);
    std::vector<DeviceShard*> on(peers_.count());
    for (DeviceShard& sharer : sharers_) on[sharer.device] = &sharer;
    peers_.run([&](size_t device) {
      if (on[device]) peers_.of_device(device, [&] { body(*on[device]); });
    });
  }

  /// Allocates a matrix in the session that runs ahead.
  MutableMatrixView make(DeviceShard& me, DataType type, int64_t rows, int64_t cols, bool is_for_peers = false) {
    const int64_t stride = round_up(cols, kRowAlignment), bytes = rows * stride * element_bytes(type);
    me.memories.push_back(is_for_peers ? ahead(me).allocate_for_peers(bytes) : ahead(me).allocate(bytes));
    MutableMatrixView view = row_major<void*>(nullptr, rows, cols);
    view.row_stride = stride;
    return placed_in(*me.memories.back(), view);
  }

  /// Clears a record. Eliminations write nothing after an improving cycle, but products still read the records, whose
  /// sums must be defined.
  void clear(DeviceShard& me, const MutableMatrixView& view) {
    const double zero =
        with_semiring(closure_.operation, [](auto semiring) { return double(decltype(semiring)::zero); });
    me.in_flight.add(ahead(me).fill(dtype(), 1, view, zero), 0);
  }

  void make_memory(DeviceShard& me) {
    const int64_t m = me.rows.size(), pivots = max_pivots_of_group_;
    me.d = peers_.on_piece(me.device, sub(closure_.d, dtype(), me.rows, {0, n_}));
    me.next = peers_.on_piece(me.device, sub(closure_.next, DataType::kInt32, me.rows, {0, n_}));
    me.down = make(me, dtype(), pivots + m, pivots);
    me.along = make(me, dtype(), pivots, pivots + m);
    clear(me, me.down);
    clear(me, me.along);
    for (DeviceShard::Record& record : me.records) {
      record.share = make(me, dtype(), pivots, pivots + m, true);
      // Columns and rows are in one matrix, so that one scan finds the range of both.
      const int64_t of_columns = (pivots + m) * round_up(pivots, kRowAlignment), stride = round_up(n_, kRowAlignment);
      record.both = make(me, dtype(), 1, of_columns + pivots * stride);
      record.both.cols = record.both.row_stride;
      record.columns = {record.both.data,  pivots + m, pivots, round_up(pivots, kRowAlignment), 1, 0, {},
                        record.both.memory};
      record.all_rows = view_from(record.both, dtype(), 0, 0, of_columns);
      record.all_rows.rows = pivots;
      record.all_rows.cols = n_;
      record.all_rows.row_stride = stride;
      clear(me, record.share);
      clear(me, record.both);
      if (me.next.data) record.next_columns = make(me, DataType::kInt32, pivots + m, pivots);
    }
    for (const DeviceShard& other : sharers_) {
      const bool is_me = &other == &me;
      const int64_t cols = pivots + other.rows.size();
      me.outbox.push_back(is_me ? me.along : make(me, dtype(), pivots, cols, true));
      me.inbox.push_back(is_me ? MutableMatrixView() : make(me, dtype(), pivots, cols));
    }
    me.gain = make(me, DataType::kInt32, 1, 1);
    me.in_flight.add(ahead(me).fill(DataType::kInt32, 1, me.gain, kNoGain), 0);
    if (me.next.data) {
      me.next_down = make(me, DataType::kInt32, pivots + m, pivots);
      me.next_along = make(me, DataType::kInt32, pivots, pivots + m);
      // Next nodes of the pivots' rows are computed, but not used.
      me.in_flight.add(ahead(me).fill(DataType::kInt32, 1, me.next_down, -1), 0);
      me.in_flight.add(ahead(me).fill(DataType::kInt32, 1, me.next_along, -1), 0);
    }
    session(me).follow(ahead(me).moment().get());
    if (!me.next.data || closure_.continues) return;
    me.in_flight.add(session(me).set_successors(closure_.operation, 1, read_only(me.d), me.next), 0);
  }

  void copy(DeviceShard& me, Session& by, const MutableMatrixView& from, const MutableMatrixView& to, DataType type) {
    me.in_flight.add(by.copy(type, 1, read_only(from), to), 0);
  }

  void receive(DeviceShard& me, const DeviceShard& from, const MutableMatrixView& source, const StreamEvent* written,
               const MutableMatrixView& target) {
    ahead(me).follow(written);
    ahead(me).receive(ahead(from), *source.memory, 0, *target.memory, 0, target.memory->bytes());
  }

  /// Copies the operands of the group's elimination from d.
  void hand_out(DeviceShard& me, const Group& group) {
    const int64_t pivots = group.pivots.size(), m = me.rows.size();
    const Span own{pivots, pivots + m}, of_pivots{0, pivots};
    copy(me, session(me), sub(me.d, dtype(), {0, m}, group.pivots), sub(me.down, dtype(), own, of_pivots), dtype());
    if (me.next.data) {
      copy(me, session(me), sub(me.next, DataType::kInt32, {0, m}, group.pivots),
           sub(me.next_down, DataType::kInt32, own, of_pivots), DataType::kInt32);
    }
    if (me.index == group.owner) {
      const MutableMatrixView rows = sub(me.d, dtype(), in_rows_of(me, group.pivots), {0, n_});
      for (const DeviceShard& other : sharers_) {
        const MutableMatrixView& to = me.outbox[other.index];
        const Span share{pivots, pivots + other.rows.size()};
        copy(me, session(me), sub(rows, dtype(), of_pivots, group.pivots), sub(to, dtype(), of_pivots, of_pivots),
             dtype());
        copy(me, session(me), sub(rows, dtype(), of_pivots, other.rows), sub(to, dtype(), of_pivots, share), dtype());
      }
    }
    me.handed_out = session(me).moment();
  }

  static Span in_rows_of(const DeviceShard& me, Span rows) { return rows.from(me.rows.first); }

  void eliminate(DeviceShard& me, const Group& group) {
    const DeviceShard& owner = sharers_[group.owner];
    const Span of_pivots{0, group.pivots.size()};
    ahead(me).follow(me.handed_out.get());
    if (&me != &owner) receive(me, owner, owner.outbox[me.index], owner.handed_out.get(), me.along);
    copy(me, ahead(me), sub(me.along, dtype(), of_pivots, of_pivots), sub(me.down, dtype(), of_pivots, of_pivots),
         dtype());
    for (int64_t first = 0; first < of_pivots.end; first += max_pivots_) {
      const Span block{first, std::min(first + max_pivots_, of_pivots.end)};
      eliminate_block(me, group, block);
      if (block.end < of_pivots.end) update_trailing(me, group, block);
    }
    me.eliminated = ahead(me).moment();
  }

  /// Eliminates a block of at most Session::max_pivots() pivots of the group.
  void eliminate_block(DeviceShard& me, const Group& group, Span block) {
    const Span down_rows{0, group.pivots.size() + me.rows.size()}, along_cols = down_rows;
    const DeviceShard::Record& to = record(me, group);
    Pivots request;
    request.operation = closure_.operation;
    request.count = block.size();
    request.down = sub(me.down, dtype(), down_rows, block);
    request.along = sub(me.along, dtype(), block, along_cols);
    request.first_row = request.first_col = block.first;
    request.columns = sub(to.columns, dtype(), down_rows, block);
    request.rows = sub(to.share, dtype(), block, along_cols);
    if (me.next.data) {
      request.next_down = sub(me.next_down, DataType::kInt32, down_rows, block);
      request.next_along = sub(me.next_along, DataType::kInt32, block, along_cols);
      request.next_columns = sub(to.next_columns, DataType::kInt32, down_rows, block);
    }
    request.first_node = group.pivots.first + block.first;
    request.gain = me.gain;
    request.cancelled = closure_.cancelled;
    me.in_flight.add(ahead(me).eliminate(request), 0);
  }

  /// Relaxes the rows and the columns of the group's pivots after the block by paths through the block. Rows and
  /// columns of earlier pivots have been recorded already.
  void update_trailing(DeviceShard& me, const Group& group, Span block) {
    const int64_t pivots = group.pivots.size(), m = me.rows.size();
    const Span later{block.end, pivots}, lines{0, pivots + m};
    const DeviceShard::Record& known = record(me, group);
    std::vector<Problem>& products = me.in_flight.products();
    products.push_back(product(me, sub(known.columns, dtype(), lines, block), sub(known.share, dtype(), block, later),
                               sub(me.down, dtype(), lines, later)));
    if (me.next.data) {
      products.back().witness = sub(me.next_down, DataType::kInt32, lines, later);
      products.back().through = read_only(sub(known.next_columns, DataType::kInt32, lines, block));
    }
    products.push_back(product(me, sub(known.columns, dtype(), later, block), sub(known.share, dtype(), block, lines),
                               sub(me.along, dtype(), later, lines)));
    multiply(me, ahead(me), products, 0);
  }

  /// Returns the product d = d ⊕ a ⊗ b.
  Problem product(const DeviceShard& me, const MutableMatrixView& a, const MutableMatrixView& b,
                  const MutableMatrixView& d) const {
    return relaxation(closure_, a, b, d, me.known, peers_.are_host());
  }

  void multiply(DeviceShard& me, Session& by, const std::vector<Problem>& products, double steps) {
    require_wanted(closure_);
    me.in_flight.add(by.multiply(products, peers_.place(me.device, where_)), steps);
  }

  /// Collects the records of the pivots' rows from all devices.
  void assemble(DeviceShard& me, const Group& group) {
    const Span of_pivots{0, group.pivots.size()};
    const DeviceShard::Record& mine = record(me, group);
    for (const DeviceShard& other : sharers_) {
      const MutableMatrixView& share = record(other, group).share;
      const bool is_mine = &other == &me;
      if (!is_mine) receive(me, other, share, other.eliminated.get(), me.inbox[other.index]);
      const Span cols{of_pivots.end, of_pivots.end + other.rows.size()};
      copy(me, ahead(me), sub(is_mine ? share : me.inbox[other.index], dtype(), of_pivots, cols),
           sub(mine.all_rows, dtype(), of_pivots, other.rows), dtype());
    }
    me.operands.reset();
    if (is_worth_scanning(peers_.are_host(), closure_.operation, steps_of(me, group))) {
      const ValueRange range = ahead(me).range(closure_.operation, 1, read_only(mine.both));
      if (known_.is_within(range)) me.operands = range;
    }
    me.assembled = ahead(me).moment();
  }

  double steps_of(const DeviceShard& me, const Group& group) const {
    return static_cast<double>(me.rows.size()) * static_cast<double>(n_) * static_cast<double>(group.pivots.size());
  }

  /// Relaxes all rows of a device by paths through the group, and distributes the next group.
  void improve(DeviceShard& me, const Group& group) {
    session(me).follow(me.assembled.get());
    const Span all{0, me.rows.size()};
    const Group* const next = group.index + 1 < groups_.size() ? &groups_[group.index + 1] : nullptr;
    if (next && has_lookahead_) {
      improve_part(me, group, all, next->pivots, 0);
      if (me.index == next->owner) improve_part(me, group, in_rows_of(me, next->pivots), {0, n_}, 0);
      hand_out(me, *next);
    }
    // Recomputed elements don't change.
    improve_part(me, group, all, {0, n_}, steps_of(me, group));
    if (next && !has_lookahead_) hand_out(me, *next);
  }

  void improve_part(DeviceShard& me, const Group& group, Span rows, Span cols, double steps) {
    const Span of_pivots{0, group.pivots.size()};
    const Span recorded{of_pivots.end + rows.first, of_pivots.end + rows.end};
    const DeviceShard::Record& mine = record(me, group);
    std::vector<Problem>& products = me.in_flight.products();
    products.push_back(product(me, sub(mine.columns, dtype(), recorded, of_pivots),
                               sub(mine.all_rows, dtype(), of_pivots, cols), sub(me.d, dtype(), rows, cols)));
    if (me.operands) products.back().known_operands = &*me.operands;
    if (me.next.data) {
      products.back().witness = sub(me.next, DataType::kInt32, rows, cols);
      products.back().through = read_only(sub(mine.next_columns, DataType::kInt32, recorded, of_pivots));
    }
    multiply(me, session(me), products, steps);
  }

  void tighten(const Group& group) {
    const double pivots = static_cast<double>(group.pivots.size()), n = static_cast<double>(n_);
    const bool is_cheap =
        is_worth_scanning(peers_.are_host(), closure_.operation, n * n * pivots / static_cast<double>(sharers_.size()));
    if (!known_.is_worth_tightening(static_cast<int64_t>(group.index) + 1, is_cheap)) return;
    each([&](DeviceShard& me) { me.found = session(me).range(closure_.operation, 1, read_only(me.d)); });
    ValueRange range = sharers_.front().found;
    for (const DeviceShard& sharer : sharers_) range.merge(sharer.found);
    goes_too_far_ = !known_.tighten(range) && group.pivots.end < n_;
    for (DeviceShard& sharer : sharers_) sharer.known = known_.range();
  }

  void end(DeviceShard& me) {
    if (closure_.reflexive && !goes_too_far_) {
      set_diagonals(me.in_flight, session(me), closure_, 1, me.d, me.next, me.rows.first);
    }
    if (&me != &sharers_.front()) return;
    const MutableMatrixView to = row_major<void*>(&found_, 1, 1);
    me.in_flight.add(ahead(me).download(DataType::kInt32, 1, read_only(me.gain), to, nullptr), 0);
  }

  const Clock::time_point start_ = Clock::now();
  PeerTransfers& peers_;
  const Closure closure_;
  const Placement where_;
  const int64_t n_;
  PathRangeTracker known_;
  std::vector<Group> groups_;
  int64_t max_pivots_ = 0, max_pivots_of_group_ = 0;
  bool has_lookahead_ = false, goes_too_far_ = false, is_finished_ = false;
  int32_t found_ = kNoGain;
  std::deque<DeviceShard> sharers_;  ///< last member: pending work uses the others
};

/// Starts the closure of a batch: each device closes its matrices independently.
StartedClosure start_by_instances(PeerTransfers& peers, const Closure& closure, const std::vector<Region>& regions,
                                  const Placement& where) {
  std::vector<std::optional<StartedClosure>> started(peers.count());
  peers.each(regions, [&](size_t device, const Region& region) {
    Closure mine = closure;
    mine.batch = region.items.size();
    mine.d = peers.on_piece(device, sub(closure.d, closure.operation.dtype, region));
    mine.next = peers.on_piece(device, sub(closure.next, DataType::kInt32, region));
    started[device] = start_closure(peers.session(device), mine, peers.place(device, where));
  });
  auto work = std::make_unique<JointWork>(peers, 1);
  bool goes_too_far = false;
  for (size_t device = 0; device < peers.count(); ++device) {
    if (!started[device]) continue;
    goes_too_far |= started[device]->goes_too_far;
    work->add({device, std::move(started[device]->work), 0, regions[device].items.first * closure.d.rows});
  }
  return {std::move(work), goes_too_far};
}

/// Starts the closure on the first device, which gets a copy of all matrices.
StartedClosure start_on_first(PeerTransfers& peers, const Closure& closure, const Placement& where) {
  Closure there = closure;
  const Whole d = peers.fetch_whole(closure.d, closure.operation.dtype, closure.batch);
  auto work = std::make_unique<JointWork>(peers, 1);
  work->kept().push_back(d.memory);
  there.d = d.view;
  std::optional<Whole> next;
  if (closure.next.data) {
    next = peers.fetch_whole(closure.next, DataType::kInt32, closure.batch);
    there.next = next->view;
    work->kept().push_back(next->memory);
  }
  StartedClosure started =
      peers.of_device(0, [&] { return start_closure(peers.session(0), there, peers.place(0, where)); });
  work->add({0, std::move(started.work), 0});
  peers.put_back(closure.d, d);
  if (next) peers.put_back(closure.next, *next);
  return {std::move(work), started.goes_too_far};
}

}  // namespace

StartedClosure start_closure(PeerTransfers& peers, const Closure& closure, const Placement& where) {
  const Writing writing_d(closure.d.memory), writing_next(closure.next.memory);
  const auto regions = peers.regions_of(closure.d, closure.operation.dtype, closure.batch);
  const bool is_divided =
      regions && (!closure.next.data || peers.regions_of(closure.next, DataType::kInt32, closure.batch) == regions);
  if (!is_divided) return start_on_first(peers, closure, where);
  const auto busy = std::count_if(regions->begin(), regions->end(), [](const Region& it) { return !it.is_empty(); });
  if (closure.batch > 1 || busy == 1) return start_by_instances(peers, closure, *regions, where);
  if (closure.d.rows < peers.limits().min_nodes) return start_on_first(peers, closure, where);
  auto work = std::make_unique<ClosureByRows>(peers, closure, *regions, where);
  work->start();
  const bool goes_too_far = work->goes_too_far();
  return {std::move(work), goes_too_far};
}

}  // namespace mpmml
