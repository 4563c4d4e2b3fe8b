// Distances of graphs whose edges improve no path: by two squarings and relaxations over the few essential edges,
// instead of elimination of every node.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/algebra/dispatch.h"
#include "core/closure/methods.h"
#include "core/closure/steps.h"
#include "core/host/clock.h"
#include "core/problem/region.h"
#include "core/status.h"

namespace mpmml {
namespace {

// Measured on one H200: 1024 nodes take 1.0 to 1.2 ms, and 1.9 ms by elimination. For kFastSquares nodes or more, two
// squarings take as long as an elimination unless they skip most of their steps.
constexpr int64_t kMinNodes = 768, kFastSquares = 1537;
/// Limits of the essential edges per node, and of the rows that the rounds read for each row of D. Random graphs have
/// 16 edges per node after two squarings, and read 120 rows; distances in a plane with noise 140 and 470. Each round
/// counts as 4 reads more (up to 24 rounds, random graphs). Elimination of n nodes takes as long as about n/32 such
/// reads of every row, and as 128 of them for its launches.
int64_t max_edges_per_node(int64_t nodes) { return nodes < kFastSquares ? 128 + nodes / 32 : 64; }
int64_t max_reads_per_node(int64_t nodes) {
  return nodes < kFastSquares ? 2 * max_edges_per_node(nodes) : 288 + nodes / 128;
}

constexpr int64_t kSampledRows = 16;
// Greatest number of edges of a path after the two squarings.
constexpr int kEdgesOfWays = 4;
// Fractions of a sample's elements. Long best paths need many rounds.
constexpr double kMaxUnreached = 0.5;
constexpr double kMaxChanged = 0.9;

class Squarings {
 public:
  Squarings(Session& session, Relaxer& relaxer, const Closure& closure, const Placement& where)
      : session_(session),
        relaxer_(relaxer),
        closure_(closure),
        where_(waiting(where)),
        n_(closure.d.rows),
        in_flight_(closure.steps_done) {}

  /// Returns whether all matrices of the batch were closed.
  bool close() {
    for (int64_t item = 0; item < closure_.batch; ++item) {
      if (!close_item(sub(closure_.d, DataType::kInt32, {{item, item + 1}, {0, n_}, {0, n_}}))) return false;
    }
    in_flight_.finish();
    return true;
  }

 private:
  static Placement waiting(Placement where) {
    where.waits = true;
    return where;
  }

  OwnedMatrix allocate(int64_t rows) { return allocate_matrix(session_, DataType::kInt32, 1, rows, n_); }

  bool close_item(const MutableMatrixView& d) {
    MutableMatrixView diagonal = sub(d, DataType::kInt32, {0, n_}, {0, 1});
    ++diagonal.row_stride;
    in_flight_.add(session_.fill(DataType::kInt32, 1, diagonal, 0), 0);
    if (!is_worth(read_only(d))) return false;
    const double steps = static_cast<double>(n_) * static_cast<double>(n_) * static_cast<double>(n_);
    const OwnedMatrix ways = allocate(n_);
    {
      const OwnedMatrix once = allocate(n_);
      multiply(read_only(d), read_only(d), once.view, steps / 3);
      multiply(read_only(once.view), read_only(once.view), ways.view, steps / 3);
      in_flight_.finish();
    }
    EssentialEdges edges;
    edges.operation = closure_.operation;
    edges.weights = read_only(d);
    edges.d = ways.view;
    edges.max_edges = n_ * max_edges_per_node(n_);
    edges.max_reads = n_ * max_reads_per_node(n_);
    edges.cancelled = closure_.cancelled;
    const bool is_closed = relaxer_.relax(edges);
    in_flight_.add(session_.copy(DataType::kInt32, 1, read_only(ways.view), d), is_closed ? steps / 3 : 0);
    in_flight_.finish();
    return is_closed;
  }

  /// Relaxes sampled rows over a few edges, and counts the essential edges that the squarings would leave in them.
  bool is_worth(const MatrixView& weights) {
    const int64_t apart = n_ / kSampledRows;
    MatrixView rows = weights;
    rows.rows = kSampledRows;
    rows.row_stride *= apart;
    const OwnedMatrix first = allocate(kSampledRows), second = allocate(kSampledRows);
    MutableMatrixView ways = first.view, longer = second.view;
    multiply(rows, weights, ways, 0);
    for (int edges = 2; edges < kEdgesOfWays; ++edges) {
      multiply(read_only(ways), weights, longer, 0);
      std::swap(ways, longer);
    }
    const Equal essential = relaxer_.count_equal(closure_.operation, rows, read_only(ways));
    const auto elements = static_cast<double>(kSampledRows * n_);
    if (essential.elements > kSampledRows * max_edges_per_node(n_)) return false;
    if (static_cast<double>(essential.zeros) > kMaxUnreached * elements) return false;
    multiply(read_only(ways), weights, longer, 0);
    const Equal settled = relaxer_.count_equal(closure_.operation, read_only(ways), read_only(longer));
    const double changed = elements - static_cast<double>(settled.elements + settled.zeros);
    return changed <= kMaxChanged * elements &&
           (n_ < kFastSquares || relaxer_.has_fast_square(closure_.operation, weights));
  }

  void multiply(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, double steps) {
    require_wanted(closure_);
    std::vector<Problem>& products = in_flight_.products();
    Problem problem;
    problem.operation = closure_.operation;
    problem.operation.overflow = OverflowPolicy::kSaturate;
    problem.batch = 1;
    problem.a = a;
    problem.b = b;
    problem.c = c;
    problem.known = &closure_.known.range;
    problem.keeps_c = false;
    problem.cancelled = closure_.cancelled;
    products.push_back(problem);
    in_flight_.add(session_.multiply(products, where_), steps);
  }

  Session& session_;
  Relaxer& relaxer_;
  const Closure& closure_;
  const Placement where_;
  const int64_t n_;
  InFlightWork in_flight_;
};

/// Returns whether no edge improves a path, and no sum of two elements leaves the type.
bool only_makes_worse(const Closure& closure) {
  const ValueRange& range = closure.known.range;
  if (closure.known.of_group || !range.has_finite()) return false;
  return with_semiring(closure.operation, [&](auto semiring) {
    using S = decltype(semiring);
    if constexpr (is_integer_sum<S>) return S::maximizes ? range.maximum <= 0 : range.minimum >= 0;
    return false;
  });
}

}  // namespace

std::unique_ptr<Pending> close_by_squarings(Session& session, Closure& closure, const Placement& where) {
  const bool is_distances = closure.reflexive && !closure.next.data && closure.d.rows >= kMinNodes;
  Relaxer* const relaxer = session.relaxer();
  if (!relaxer || !is_distances || !only_makes_worse(closure)) return nullptr;
  // The diagonal becomes 0 first.
  ValueRange& range = closure.known.range;
  range.minimum = std::min<int64_t>(range.minimum, 0);
  range.maximum = std::max<int64_t>(range.maximum, 0);
  const Clock::time_point start = Clock::now();
  try {
    if (!Squarings(session, *relaxer, closure, where).close()) return nullptr;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory) throw;
    return nullptr;
  }
  Outcome outcome;
  outcome.timing.kernel = milliseconds_since(start);
  return std::make_unique<Done>(std::vector<Outcome>{outcome});
}

}  // namespace mpmml
