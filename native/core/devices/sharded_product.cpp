#include "core/devices/sharded_product.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <tuple>
#include <utility>

#include "core/algebra/dispatch.h"
#include "core/algebra/range.h"
#include "core/devices/joint_work.h"
#include "core/devices/partition.h"
#include "core/problem/destination.h"
#include "core/problem/overflow.h"
#include "core/problem/scan.h"
#include "core/status.h"

namespace mpmml {
namespace {

/// Throws for an invalid element with its indices in the whole product, which differ from those in a part.
void require_elements_of_operands(Session& whole, const Problem& problem) {
  if (!restricts_elements(problem.operation) || problem.known) return;
  const Structure& structure = problem.structure;
  const std::tuple<const MatrixView&, const Band&, const char*> operands[] = {
      {problem.c0, structure.c, "accumulate"}, {problem.a, structure.a, "a"}, {problem.b, structure.b, "b"}};
  for (const auto& [view, band, name] : operands) {
    if (view.data && view.memory) require_elements_of(whole, problem.operation, problem.batch, view, band, name);
  }
}

/// Starts a product on the first device, because its results aren't sharded by rows, or are sharded differently.
void start_on_first(PeerTransfers& peers, const Problem& problem, size_t index, const Placement& where, JointWork& to) {
  Problem there = problem;
  std::vector<std::pair<MutableMatrixView, Whole>> results;
  for_results(there, [&](MutableMatrixView& view, DataType dtype) {
    const Whole& whole = results.emplace_back(view, peers.fetch_whole(view, dtype, problem.batch)).second;
    to.kept().push_back(whole.memory);
    view = whole.view;
  });
  const bool in_place = problem.c0.data == problem.c.data && problem.c0.memory == problem.c.memory;
  if (in_place) there.c0 = {};
  for_operands(there,
               [&](MatrixView& view, DataType dtype) { view = peers.on(0, view, dtype, problem.batch, to.kept()); });
  const Whole& c = results.front().second;
  if (in_place) there.c0 = moved(problem.c0, *c.memory, c.bytes.first);
  to.add({0, peers.of_device(0, [&] { return peers.multiply(0, there, where, to.kept()); }), index});
  for (const auto& [view, whole] : results) peers.put_back(view, whole);
}

/// Returns whether the product would fail with this error on any device.
bool is_of_values(ErrorCode code) { return code == ErrorCode::kValue || code == ErrorCode::kVariant; }

/// A product of which each device computes a region. If `keeps_c` is set, C doesn't change before all parts have been
/// started.
class DividedProduct {
 public:
  /// Copies operands to the devices. `shares`: whether devices may broadcast host data to each other.
  DividedProduct(PeerTransfers& peers, const Problem& problem, const std::vector<Region>& regions, bool shares)
      : peers_(peers), problem_(problem), regions_(regions), parts_(peers.count()) {
    size_t busy = 0;
    for (size_t device = 0; device < peers_.count(); ++device) busy += has_work(device);
    // Writes after the start of all parts can't fail any more.
    const bool may_fail = busy > 1 && (is_resident() || !peers_.session(0).writes_at_finish());
    const auto prepare = [&](size_t device) {
      if (!has_work(device)) return;
      Part& mine = parts_[device];
      mine.problem = peers_.part_for(device, problem_, regions_[device], mine.kept);
      mine.target.emplace(mine.problem, may_fail);
      mine.problem.stopped = stopped_.get();
      mine.kept.push_back(stopped_);
    };
    if (busy > 1 && is_resident()) {
      peers_.exchange(prepare);
    } else {
      for (size_t device = 0; device < peers_.count(); ++device) prepare(device);
    }
    if (shares && !is_resident()) share();
  }
  /// Abandoned work releases its memory on the thread that allocated it.
  ~DividedProduct() {
    if (std::none_of(parts_.begin(), parts_.end(), [](const Part& it) { return it.work != nullptr; })) return;
    peers_.run([this](size_t device) { parts_[device].work.reset(); });
  }
  DividedProduct(const DividedProduct&) = delete;

  /// Starts all parts. Returns false, without any effect, if the devices can't share operands. Throws Error, and an
  /// OverflowError for the first result that overflows.
  bool start(const Placement& where) {
    peers_.run([&](size_t device) {
      if (!has_work(device)) return;
      of_part(device, [&] { start_part(device, where); });
      if (shared_) shared_->leave(device);
      // C may be written before all parts have been started unless it must be kept.
      if (!is_resident() && !problem_.keeps_c) finish_part(device);
    });
    if (shared_ && shared_->is_refused()) return false;
    throw_failure();
    return true;
  }

  /// Finishes a product of host matrices and copies its results to C. Returns the outcome of each part. Throws Error.
  std::vector<Outcome> finish() {
    if (problem_.keeps_c) {
      peers_.run([&](size_t device) { finish_part(device); });
      throw_failure();
    }
    std::vector<Outcome> outcomes;
    for (Part& it : parts_) outcomes.push_back(std::move(it.outcome));
    return outcomes;
  }

  void hand_over(size_t index, JointWork& to) {
    for (size_t device = 0; device < peers_.count(); ++device) {
      Part& mine = parts_[device];
      to.kept().insert(to.kept().end(), mine.kept.begin(), mine.kept.end());
      if (!mine.work) continue;
      to.add({device, std::move(mine.work), index});
      mine.target->commit(
          [&](const MatrixView& from, const MutableMatrixView& c) { to.add({device, copy(device, from, c)}); });
    }
  }

 private:
  struct Part {
    Problem problem;
    std::optional<ResultTarget> target;
    Kept kept;
    std::unique_ptr<Pending> work;  ///< uses the kept objects
    Outcome outcome;
    std::exception_ptr failure;
    std::optional<int64_t> overflow;
    int64_t sum = 0;
  };

  bool is_resident() const { return problem_.c.memory != nullptr; }

  /// Returns whether the device has a part. A product without results has one too, for its plan.
  bool has_work(size_t device) const {
    return !regions_[device].is_empty() || (device == 0 && problem_.outputs() == 0);
  }

  /// Sets up the broadcast of B, which all parts read if they are rows.
  void share() {
    if (problem_.batch > 1 || !(regions_.front().cols == whole(problem_).cols)) return;
    std::vector<Problem> problems;
    std::vector<Session*> sessions;
    for (size_t device = 0; device < parts_.size(); ++device) {
      if (!has_work(device)) return;
      problems.push_back(parts_[device].problem);
      sessions.push_back(&peers_.session(device));
    }
    shared_ = peers_.session(0).broadcast_b(problems, sessions);
  }

  std::unique_ptr<Pending> copy(size_t device, const MatrixView& from, const MutableMatrixView& to) {
    return peers_.session(device).copy(problem_.operation.dtype, parts_[device].problem.batch, from, to);
  }

  /// Calls `body` and records its exception. Stops other parts, unless they may still find an earlier result that
  /// overflows.
  template <class Body>
  void of_part(size_t device, Body&& body) {
    Part& mine = parts_[device];
    try {
      body();
    } catch (const OverflowError& error) {
      mine.overflow = index_in_whole(regions_[device], problem_.m(), problem_.n(), error.index());
      mine.sum = error.sum();
    } catch (const Error& error) {
      mine.failure = std::current_exception();
      if (!is_of_values(error.code()) && error.code() != ErrorCode::kAborted) *stopped_ = 1;
    } catch (...) {
      mine.failure = std::current_exception();
      *stopped_ = 1;
    }
  }

  void start_part(size_t device, const Placement& where) {
    Part& mine = parts_[device];
    Problem& part = mine.problem;
    if (mine.target->is_separate()) {
      const std::shared_ptr<Memory> separate = peers_.session(device).allocate(mine.target->bytes());
      mine.kept.push_back(separate);
      mine.target->place(separate->data(), separate.get());
      const MatrixView c = read_only(part.c);
      part = mine.target->there(part);
      // Elements outside of the band keep their values, although the whole matrix is copied back.
      if (!part.structure.c.is_all(part.m(), part.n())) copy(device, c, part.c)->finish();
    }
    Placement place = peers_.place(device, for_part(problem_, regions_[device], where));
    place.shared_b = shared_.get();
    place.part = device;
    place.call = this;
    mine.work = peers_.multiply(device, part, place, mine.kept);
  }

  void finish_part(size_t device) {
    Part& mine = parts_[device];
    if (!mine.work) return;
    of_part(device, [&] {
      mine.outcome = std::move(mine.work->finish().front());
      mine.target->commit([&](const MatrixView& from, const MutableMatrixView& c) { copy(device, from, c)->finish(); });
    });
    mine.work.reset();
  }

  /// Throws the first failure that isn't the cancellation of a part. Parts are cancelled because another part failed or
  /// overflowed.
  void throw_failure() const {
    std::exception_ptr aborted_by_others;
    for (size_t device = 0; device < parts_.size(); ++device) {
      if (!parts_[device].failure) continue;
      try {
        std::rethrow_exception(parts_[device].failure);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kAborted) {
          aborted_by_others = parts_[device].failure;
          continue;
        }
        // Indices in the part differ from those in the whole product.
        if (error.code() == ErrorCode::kValue && !is_resident()) require_elements_of_operands(problem_);
        if (is_of_values(error.code())) throw;
        throw of_device(peers_.backend(), peers_.numbers()[device], error);
      }
    }
    const Part* first = nullptr;
    for (const Part& it : parts_) {
      if (it.overflow && (!first || *it.overflow < *first->overflow)) first = &it;
    }
    if (first) throw OverflowError(problem_, *first->overflow, first->sum);
    if (aborted_by_others) std::rethrow_exception(aborted_by_others);
  }

  PeerTransfers& peers_;
  const Problem& problem_;
  const std::vector<Region>& regions_;
  std::vector<Part> parts_;
  std::unique_ptr<SharedOperand> shared_;
  const std::shared_ptr<std::atomic<int32_t>> stopped_ = std::make_shared<std::atomic<int32_t>>(0);
};

}  // namespace

void require_elements_of(Session& whole, const Operation& operation, int64_t batch, const MatrixView& view,
                         const Band& band, const char* name) {
  if (!whole.range(operation, batch, view).has_invalid_element) return;
  const int64_t rows = view.rows, cols = view.cols, bytes = stored_bytes(operation.dtype, view.storage);
  const int64_t items = items_of(view, batch);
  std::vector<char> copy(static_cast<size_t>(items * rows * cols * bytes));
  MutableMatrixView to = row_major<void*>(copy.data(), rows, cols);
  to.storage = view.storage;
  whole.download(operation.dtype, items, view, to, nullptr)->finish();
  if (items == 1) to.batch_stride = 0;
  require_elements(operation, read_only(to), batch, name, band);
}

std::unique_ptr<Pending> multiply(PeerTransfers& peers, Session& whole, Problems problems, const Placement& where) {
  auto started = std::make_unique<JointWork>(peers, problems.size());
  for (size_t index = 0; index < problems.size(); ++index) {
    const Problem& problem = problems[index];
    const auto writing = writing_results(problem);
    of_product(index, [&] {
      require_elements_of_operands(whole, problem);
      const auto regions = peers.regions_of_results(problem);
      if (!regions) return start_on_first(peers, problem, index, where, *started);
      DividedProduct product(peers, problem, *regions, false);
      product.start(where);
      product.hand_over(index, *started);
    });
  }
  return started;
}

std::vector<Outcome> multiply(PeerTransfers& peers, const Problem& problem, const std::vector<Region>& regions,
                              const Placement& where) {
  for (const bool shares : {true, false}) {
    DividedProduct product(peers, problem, regions, shares);
    if (product.start(where)) return product.finish();
  }
  return {};
}

Plan plan(PeerTransfers& peers, const Problem& problem, const Placement& where) {
  Kept kept;
  Span Region::* const axis = PeerTransfers::axis_of(problem.batch);
  Region region = whole(problem);
  const int64_t units = (region.*axis).size();
  const int64_t unit_bytes = problem.outputs() / units * element_bytes(problem.operation.dtype);
  const std::vector<Span> shares = peers.divide(units, unit_bytes);
  Outcome all;
  for (size_t device = 0; device < peers.count(); ++device) {
    region.*axis = shares[device];
    if (region.is_empty()) continue;
    const Problem part = peers.part_for(device, problem, region, kept);
    const Placement place = peers.place(device, for_part(problem, region, where));
    all.take_plan(peers.of_device(device, [&] { return peers.session(device).plan(part, place); }));
  }
  return all.plan;
}

}  // namespace mpmml
