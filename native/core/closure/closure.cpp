#include "core/closure/closure.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/algebra/dispatch.h"
#include "core/closure/methods.h"
#include "core/closure/steps.h"
#include "core/host/clock.h"
#include "core/problem/region.h"
#include "core/session/user_operands.h"
#include "core/status.h"

namespace mpmml {
namespace {

/// Limit of the steps of one group of matrices. A larger batch is closed in groups, so that it can be cancelled, and
/// needs less memory.
constexpr double kStepsAtOnce = 6e10;
constexpr double kRecordedBytesAtOnce = 3e8;

/// Minimum number of redundant steps that justifies an additional product to omit them.
constexpr double kStepsWorthProduct[] = {1e6, 2e8};  // by BackendKind

class ClosureWork final : public Pending {
 public:
  ClosureWork(Session& session, const Closure& closure, const Placement& where)
      : session_(session), closure_(closure), where_(where), n_(closure.d.rows), in_flight_(closure.steps_done) {}

  void start() {
    const int64_t most = items_at_once();
    make_memory(most);
    // Next nodes are initialized for the whole batch: if the sums of some matrices might overflow, later matrices
    // aren't processed.
    if (closure_.next.data && !closure_.continues) {
      in_flight_.add(session_.set_successors(closure_.operation, closure_.batch, read_only(closure_.d), closure_.next),
                     0);
    }
    for (first_item_ = 0; first_item_ < closure_.batch; first_item_ += most) {
      items_ = std::min(most, closure_.batch - first_item_);
      close_items();
      if (goes_too_far_) break;
    }
    found_.resize(static_cast<size_t>(closure_.batch), kNoGain);
    const MutableMatrixView to = row_major<void*>(found_.data(), 1, 1);
    in_flight_.add(session_.download(DataType::kInt32, closure_.batch, read_only(gain_.view), to, nullptr), 0);
  }

  bool is_done() override { return in_flight_.is_done(); }

  std::vector<Outcome> finish() override {
    in_flight_.finish();
    Outcome outcome;
    for (size_t item = 0; item < found_.size() && !outcome.gain; ++item) {
      if (found_[item] != kNoGain) outcome.gain = static_cast<int64_t>(item) * n_ + found_[item];
    }
    outcome.timing.kernel = milliseconds_since(start_);
    return {outcome};
  }

  bool goes_too_far() const { return goes_too_far_; }

 private:
  DataType dtype() const { return closure_.operation.dtype; }

  int64_t items_at_once() const {
    const auto n = static_cast<double>(n_);
    const double recorded = n * static_cast<double>(kMaxPivotsOfGroup * (2 * element_bytes(dtype()) + 4));
    const double most = std::min(kStepsAtOnce / (n * n * n), kRecordedBytesAtOnce / recorded);
    return static_cast<int64_t>(std::clamp(most, 1.0, static_cast<double>(closure_.batch)));
  }

  void make_memory(int64_t items) {
    gain_ = allocate_matrix(session_, DataType::kInt32, closure_.batch, 1, 1);
    in_flight_.add(session_.fill(DataType::kInt32, closure_.batch, gain_.view, kNoGain), 0);
    max_pivots_ = session_.max_pivots(closure_.operation);
    if (n_ <= max_pivots_) return;
    const int64_t pivots = std::min(n_, kMaxPivotsOfGroup);
    columns_ = allocate_matrix(session_, dtype(), items, n_, pivots);
    rows_ = allocate_matrix(session_, dtype(), items, pivots, n_);
    if (closure_.next.data) next_columns_ = allocate_matrix(session_, DataType::kInt32, items, n_, pivots);
  }

  /// Returns a submatrix of d for all batch entries of the current group.
  MutableMatrixView d(Span rows, Span cols) const { return sub(closure_.d, dtype(), {items(), rows, cols}); }
  MutableMatrixView next(Span rows, Span cols) const {
    return sub(closure_.next, DataType::kInt32, {items(), rows, cols});
  }
  /// Returns the recorded columns of these pivots.
  MutableMatrixView columns(Span rows, Span pivots) const {
    return sub(columns_.view, dtype(), rows, in_group(pivots));
  }
  MutableMatrixView next_columns(Span rows, Span pivots) const {
    return sub(next_columns_.view, DataType::kInt32, rows, in_group(pivots));
  }
  MutableMatrixView rows(Span pivots, Span cols) const { return sub(rows_.view, dtype(), in_group(pivots), cols); }
  Span in_group(Span pivots) const { return pivots.from(group_.first); }

  Span items() const { return {first_item_, first_item_ + items_}; }
  Span all() const { return {0, n_}; }
  double steps(int64_t rows, int64_t cols, int64_t pivots) const {
    return static_cast<double>(items_) * static_cast<double>(rows) * static_cast<double>(cols) *
           static_cast<double>(pivots);
  }

  void close_items() {
    known_ = PathRangeTracker(closure_.operation, closure_.known);
    for (int64_t first = 0; first < n_; first = group_.end) {
      group_ = {first, std::min(first + kMaxPivotsOfGroup, n_)};
      eliminate(group_);
      relax_others();
      if (goes_too_far_) return;
    }
    if (!closure_.reflexive) return;
    set_diagonals(in_flight_, session_, closure_, items_, d(all(), all()), next(all(), all()), 0);
  }

  /// Relaxes the rows and the columns of these pivots by paths through them, and records the operands of the product
  /// for the other elements.
  void eliminate(Span pivots) {
    if (pivots.size() <= max_pivots_) return eliminate_batched(pivots);
    const int64_t half = round_up(ceil_div(pivots.size(), 2), max_pivots_);
    const Span before{pivots.first, pivots.first + half}, after{before.end, pivots.end};
    eliminate(before);
    improve(before, after, before, after, pivots);
    eliminate(after);
    improve(after, before, after, before, pivots);
  }

  void eliminate_batched(Span pivots) {
    require_wanted(closure_);
    Pivots request;
    request.operation = closure_.operation;
    request.batch = items_;
    request.count = pivots.size();
    request.down = d(all(), pivots);
    request.along = d(pivots, all());
    request.next_down = next(all(), pivots);
    request.next_along = next(pivots, all());
    request.first_row = request.first_col = request.first_node = pivots.first;
    request.columns = columns(all(), pivots);
    request.rows = rows(pivots, all());
    request.next_columns = next_columns(all(), pivots);
    request.gain = view_from(gain_.view, DataType::kInt32, first_item_, 0, 0);
    request.cancelled = closure_.cancelled;
    in_flight_.add(session_.eliminate(request), steps(n_, n_, pivots.size()) - steps_of_others(pivots.size()));
  }

  /// Returns the number of steps of `pivots` pivots of this group between nodes outside of it.
  double steps_of_others(int64_t pivots) const {
    const int64_t others = n_ - group_.size();
    return steps(others, others, pivots);
  }

  /// Relaxes the rows `rows` except for the columns `without_cols`, and the columns `cols` except for the rows
  /// `without_rows`, by paths through the pivots.
  void improve(Span pivots, Span rows, Span without_cols, Span cols, Span without_rows) {
    std::vector<Problem>& products = in_flight_.products();
    for (const Span part : parts_without(without_cols, steps(rows.size(), without_cols.size(), pivots.size()))) {
      add_product(products, pivots, rows, part);
    }
    for (const Span part : parts_without(without_rows, steps(without_rows.size(), cols.size(), pivots.size()))) {
      add_product(products, pivots, part, cols);
    }
    multiply(products, 0);
  }

  /// Relaxes the elements that are neither in a row nor in a column of this group.
  void relax_others() {
    if (group_.size() == n_) return;
    scan_group();
    std::vector<Problem>& products = in_flight_.products();
    const double avoided = steps(n_, group_.size(), group_.size());
    for (const Span rows : parts_without(group_, avoided)) {
      for (const Span cols : parts_without(group_, avoided)) add_product(products, group_, rows, cols);
    }
    multiply(products, steps_of_others(group_.size()));
    operands_.reset();
    tighten();
  }

  void tighten() {
    if (!known_.is_worth_tightening(group_.end / kMaxPivotsOfGroup, is_worth_scanning())) return;
    goes_too_far_ =
        !known_.tighten(session_.range(closure_.operation, items_, read_only(d(all(), all())))) && group_.end < n_;
  }

  /// Scans the range of the recorded rows and columns of this group.
  void scan_group() {
    if (!is_worth_scanning()) return;
    ValueRange range = session_.range(closure_.operation, items_, read_only(columns(all(), group_)));
    range.merge(session_.range(closure_.operation, items_, read_only(rows(group_, all()))));
    if (known_.is_within(range)) operands_ = range;
  }

  bool is_worth_scanning() const {
    return mpmml::is_worth_scanning(session_.is_host(), closure_.operation, steps_of_others(group_.size()));
  }

  /// Returns all nodes except `hole`, in one or two spans. Returns all nodes if omitting `steps` doesn't pay:
  /// recomputed elements don't change.
  std::vector<Span> parts_without(Span hole, double steps) const {
    if (steps < kStepsWorthProduct[static_cast<int>(session_.backend())]) return {all()};
    std::vector<Span> parts;
    if (hole.first > 0) parts.push_back({0, hole.first});
    if (hole.end < n_) parts.push_back({hole.end, n_});
    return parts;
  }

  void add_product(std::vector<Problem>& products, Span pivots, Span to_rows, Span to_cols) const {
    Problem problem = relaxation(closure_, columns(to_rows, pivots), rows(pivots, to_cols), d(to_rows, to_cols),
                                 known_.range(), session_.is_host());
    problem.batch = items_;
    problem.witness = next(to_rows, to_cols);
    if (problem.witness.data) problem.through = read_only(next_columns(to_rows, pivots));
    if (operands_) problem.known_operands = &*operands_;
    products.push_back(problem);
  }

  void multiply(const std::vector<Problem>& products, double steps) {
    require_wanted(closure_);
    in_flight_.add(session_.multiply(products, where_), steps);
  }

  const Clock::time_point start_ = Clock::now();
  Session& session_;
  const Closure closure_;
  const Placement where_;
  const int64_t n_;
  int64_t max_pivots_ = 0;
  OwnedMatrix columns_, rows_, next_columns_, gain_;
  int64_t first_item_ = 0, items_ = 0;
  Span group_{0, 0};
  bool goes_too_far_ = false;
  PathRangeTracker known_{closure_.operation, closure_.known};
  std::optional<ValueRange> operands_;  ///< range of the recorded rows and columns of the group, once scanned
  std::vector<int32_t> found_;          ///< Pivots::gain of all batch entries
  InFlightWork in_flight_;              ///< last member: pending work uses the others
};

/// Sets Closure::best_edge if next nodes follow from the weights, whose range is `range`, and the distances. May change
/// the diagonal, and then updates `range`.
void find_best_edge(Session& session, Closure& closure, ValueRange& range) {
  const Operation& operation = closure.operation;
  if (!closure.reflexive || !can_overflow(operation) || !range.has_finite()) return;
  const bool maximizes = with_semiring(operation, [](auto semiring) { return decltype(semiring)::maximizes; });
  const auto best = [&] { return maximizes ? range.maximum : range.minimum; };
  if (best() == 0) {
    // Possibly only the diagonal has weights of 0, which don't matter unless a cycle improves.
    MutableMatrixView diagonal = sub(closure.d, operation.dtype, {{0, 1}, {0, closure.d.rows}, {0, 1}});
    ++diagonal.row_stride;
    const double worst = static_cast<double>(maximizes ? range.minimum : range.maximum);
    session.fill(operation.dtype, closure.batch, diagonal, worst)->finish();
    range = session.range(operation, closure.batch, read_only(closure.d));
  }
  if (maximizes ? best() < 0 : best() > 0) closure.best_edge = static_cast<double>(best());
}

/// Sets `known` by the range of d, and `best_edge` if `next` is requested and follows from the weights and the
/// distances: if the weights are integers, and each edge makes a path worse. Deriving next nodes takes much less time
/// than updating them during elimination. Returns false if finite sums might leave the type within one group of pivots.
/// May wait, and change the diagonal.
bool scan_weights(Session& session, Closure& closure) {
  const Operation& operation = closure.operation;
  const bool has_range = with_semiring(operation, [](auto semiring) { return mpmml::has_range<decltype(semiring)>; });
  if (!has_range) return true;
  ValueRange range = session.range(operation, closure.batch, read_only(closure.d));
  if (closure.next.data) find_best_edge(session, closure, range);
  const std::optional<PathRange> known = path_range(operation, range, closure.d.rows);
  if (known) closure.known = *known;
  return known.has_value();
}

}  // namespace

std::unique_ptr<Pending> keep_weights(Session& session, const Closure& closure) {
  return session.copy(DataType::kInt32, closure.batch, read_only(closure.d), closure.next);
}

std::unique_ptr<Pending> find_next(Session& session, const Closure& closure) {
  NextNodes successors;
  successors.operation = closure.operation;
  successors.batch = closure.batch;
  successors.d = successors.via = read_only(closure.d);
  successors.next = closure.next;
  successors.best_edge = *closure.best_edge;
  successors.cancelled = closure.cancelled;
  auto all = std::make_unique<WhenAll>(WhenAll::Kind::kSequence);
  all->add(session.mark_tight_edges(successors));
  all->add(session.find_next_nodes(successors));
  return all;
}

StartedClosure start_closure(Session& session, const Closure& closure, const Placement& where) {
  if (PeerTransfers* const peers = session.peers()) return start_closure(*peers, closure, where);
  Closure rest = closure;
  if (std::unique_ptr<Pending> squared = close_by_squarings(session, rest, where)) return {std::move(squared), false};
  auto work = std::make_unique<ClosureWork>(session, rest, where);
  work->start();
  const bool goes_too_far = work->goes_too_far();
  return {std::move(work), goes_too_far};
}

std::unique_ptr<Pending> close(Session& session, const Closure& closure, const Placement& where) {
  if (closure.batch == 0 || closure.d.rows == 0) return std::make_unique<Done>(std::vector<Outcome>{Outcome{}});
  Closure scanned = closure;
  if (scan_weights(session, scanned)) return close_within(session, scanned, where);
  return std::make_unique<Done>(std::vector<Outcome>{close_by_float64(session, scanned, where)});
}

std::unique_ptr<Pending> close_within(Session& session, const Closure& closure, const Placement& where) {
  std::unique_ptr<Pending> keeping;
  Closure ways = closure;
  if (closure.best_edge) {
    keeping = keep_weights(session, closure);
    ways.next = {};
  }
  StartedClosure started = start_closure(session, ways, where);
  if (keeping && !started.goes_too_far) {
    auto all = std::make_unique<WhenAll>(WhenAll::Kind::kSequence);
    all->add(std::move(keeping));
    all->add(std::move(started.work));
    all->add(find_next(session, closure));
    return all;
  }
  if (!started.goes_too_far) return std::move(started.work);
  std::vector<Outcome> outcomes = started.work->finish();
  if (outcomes.front().gain) return std::make_unique<Done>(std::move(outcomes));
  Closure rest = closure;
  rest.continues = !keeping;
  // The closure starts anew, because it has no next nodes to continue with.
  if (keeping) session.copy(DataType::kInt32, closure.batch, read_only(closure.next), closure.d)->finish();
  return std::make_unique<Done>(std::vector<Outcome>{close_by_float64(session, rest, where)});
}

}  // namespace mpmml
