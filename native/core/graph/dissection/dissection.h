// Best paths from many nodes by nested dissection, for graphs with small separators. Nodes are eliminated once. Then
// the path values from roots are swept up to the separators and down to all nodes, for many roots at once. The number
// of steps of a sweep is the number of entries after elimination (edges and fill edges), which is small for roads and
// grids. B. Carré, An algebra for network routing problems, IMA Journal of Applied Mathematics 7 (1971); D. Delling, A.
// Goldberg, A. Nowatzyk, R. Werneck, PHAST: hardware-accelerated shortest path trees, Journal of Parallel and
// Distributed Computing 73 (2013).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/dissection/dissection_cache.h"
#include "core/graph/dissection/elimination_order.h"
#include "core/graph/dissection/factorization.h"
#include "core/graph/path_algebra.h"
#include "core/graph/results.h"
#include "core/graph/rows.h"
#include "core/graph/search.h"
#include "core/rounding.h"

namespace mpmml::graph {

/// Durations on one core in ns, measured on grids of 1600 to 264 000 nodes. Only their approximate ratios matter.
constexpr double kSearchPerNode = 30, kSearchPerComparison = 3.5, kSearchPerEdge = 6;
/// Durations for values of four bytes.
constexpr double kSweepPerEntry = 0.1, kSweepPerNode = 2;
/// Duration per node and level of separators. One core is assumed, because the largest separators are found one after
/// the other.
constexpr double kOrderPerNode = 120;

/// Duration of a step of elimination. One core is assumed, because the largest fronts are eliminated one after the
/// other.
constexpr double kEliminatePerStep = 0.2;

/// Returns the estimated fraction of the graph that a search visits. A search for the nearest ends stops early unless
/// an edge improves paths.
inline double share_of_search(const Query& query, bool is_monotone) {
  if (query.results.reduction != Reduction::kNearest || !is_monotone) return 1;
  const auto most = static_cast<double>(query.results.max_nearest + 1);
  return std::min(1.0, most / static_cast<double>(query.ends.count));
}

/// Returns the time in ns that dissection saves for each root, compared with searches or Query::within, without the
/// time of elimination and sweeps.
inline double saved_by_dissection(const Query& query, int64_t edges, bool is_monotone, int threads) {
  const auto nodes = static_cast<double>(query.source.nodes), levels = std::log2(nodes + 1);
  const double search =
      share_of_search(query, is_monotone) *
      (nodes * (kSearchPerNode + kSearchPerComparison * levels) + kSearchPerEdge * static_cast<double>(edges));
  constexpr double kNsPerMs = 1e6;
  const double others =
      query.within ? *query.within * kNsPerMs * threads / static_cast<double>(query.roots.count) : search;
  const double ordering = kOrderPerNode * (nodes + static_cast<double>(edges)) * levels;
  return std::min(search, others) - ordering * threads / static_cast<double>(query.roots.count);
}

/// Returns the maximum number of entries of `bytes` bytes with which dissection saves time; 0 if it never does.
inline int64_t max_entries(const Query& query, double saved, int64_t bytes) {
  const double per_byte = static_cast<double>(bytes) / 4;
  return std::max<int64_t>(
      0, static_cast<int64_t>((saved / per_byte - kSweepPerNode * query.source.nodes) / kSweepPerEntry));
}

/// Returns the indices of roots in the order of their sweeps.
inline Array<int64_t> sweep_order(const Query& query, const Ordering& ordering) {
  Array<int64_t> order(query.roots.count);
  std::iota(order.begin(), order.end(), int64_t{0});
  // Roots of one part are swept together if the layout of results allows any order of rows.
  if (query.results.root_stride != 1) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return ordering.place[query.roots[a]] < ordering.place[query.roots[b]];
    });
  }
  return order;
}

/// An eliminated graph, ready for sweeps.
template <class PathAlgebra, class Key>
struct DissectedGraph {
  const Query& query;
  const Rows<Key>& rows;
  const Rows<Key>& back;
  const Ordering& ordering;
  const std::vector<SupernodeFactor<typename PathAlgebra::Value>>& factors;
  Array<int64_t> order;
  Array<int32_t> supernode_of;  ///< supernode of each position
  std::vector<uint8_t> needed;  ///< 1 for supernodes whose nodes need values
  /// True if each edge makes paths worse. Then equal values suffice to find predecessors.
  bool is_strict = false;
};

/// Sweeps up to kLanes roots at a time, and writes their results. Each thread has one worker.
template <class PathAlgebra, class Value, class Key>
class SweepWorker {
 public:
  using V = typename PathAlgebra::Value;

  SweepWorker(const DissectedGraph<PathAlgebra, Key>& graph, FirstOverflow& overflow)
      : graph_(graph),
        query_(graph.query),
        nodes_(graph.query.source.nodes),
        storing_(graph.query, overflow),
        memory_(int64_t{nodes_} * kLanes + kAlignment / static_cast<int64_t>(sizeof(V))),
        reducing_(kLanes, Reducing(graph.query)),
        is_above_(graph.ordering.supernodes.size()) {
    const auto begin = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory_.data()));
    table_ = memory_.data() + (round_up(begin, kAlignment) - begin) / static_cast<int64_t>(sizeof(V));
    const Results& results = query_.results;
    if (!results.next && !results.trees) return;
    before_ = Array<int32_t>(int64_t{nodes_} * kLanes);
    if (results.next && query_.direction == Direction::kForward) first_.emplace(nodes_);
    if (first_ || results.trees) tree_ = Array<int32_t>(nodes_);
    if (!graph_.is_strict) queue_ = Array<int32_t>(nodes_);
  }

  /// Sweeps `count` roots from index `first` of the order on.
  void sweep(int64_t first, int count, ProgressReporter& reporter) {
    first_index_ = first;
    count_ = count;
    std::fill_n(table_, int64_t{nodes_} * kLanes, PathAlgebra::unreached());
    begin();
    go_up(reporter);
    go_down(reporter);
    if (query_.results.reduction != Reduction::kNone) return reduce(reporter);
    write_distances(reporter);
    if (before_.empty()) return;
    before_.fill(-1);
    graph_.is_strict ? find_before(reporter) : search_before(reporter);
    write_paths(reporter);
  }

 private:
  static constexpr int64_t kAlignment = 64;
  /// Number of rows and columns that are written together, so that they stay in the L1 cache.
  static constexpr int64_t kTogether = 64;

  int64_t index_of(int lane) const { return graph_.order[first_index_ + lane]; }
  int32_t root_of(int lane) const { return query_.roots[index_of(lane)]; }
  V* row(int32_t node) { return table_ + int64_t{graph_.ordering.place[node]} * kLanes; }

  void begin() {
    std::fill(is_above_.begin(), is_above_.end(), uint8_t{0});
    for (int lane = 0; lane < count_; ++lane) {
      row(root_of(lane))[lane] = PathAlgebra::start();
      int32_t at = graph_.supernode_of[graph_.ordering.place[root_of(lane)]];
      for (; at >= 0 && !is_above_[at]; at = graph_.ordering.supernodes[at].parent) is_above_[at] = 1;
    }
  }

  /// Propagates values from the roots to all separators above them.
  void go_up(ProgressReporter& reporter) {
    const auto& supernodes = graph_.ordering.supernodes;
    for (size_t at = 0; at < supernodes.size(); ++at) {
      if (!is_above_[at]) continue;
      const std::vector<int32_t>& places = supernodes[at].places;
      relax_looking(places.data(), supernodes[at].size(), places.data(), static_cast<int64_t>(places.size()),
                    graph_.factors[at].out.data(), reporter);
    }
  }

  /// Propagates values from separators to the supernodes below them.
  void go_down(ProgressReporter& reporter) {
    const auto& supernodes = graph_.ordering.supernodes;
    for (size_t at = supernodes.size(); at-- > 0;) {
      if (!graph_.needed[at]) continue;
      const Supernode& own = supernodes[at];
      const int32_t* const places = own.places.data();
      relax_looking(places + own.size(), own.border(), places, own.size(), graph_.factors[at].in.data(), reporter);
      reporter.count(int64_t{own.size()} * count_);
    }
  }

  /// Calls relax() for a limited number of targets at a time and polls for cancellation in between. Each row of weights
  /// has `targets` elements.
  void relax_looking(const int32_t* from, int64_t sources, const int32_t* to, int64_t targets, const V* weights,
                     ProgressReporter& reporter) {
    // relax() processes four targets together.
    const int64_t together = round_up(std::max<int64_t>(1, kStepsBetweenLooks / (kLanes * (sources + 1))), int64_t{4});
    for (int64_t first = 0; first < targets; first += together) {
      reporter.look();
      const int64_t count = std::min(together, targets - first);
      relax(PathAlgebra(), table_, from, sources, to + first, count, weights + first, targets);
    }
  }

  void write_distances(ProgressReporter& reporter) {
    const Results& results = query_.results;
    auto* const distances = static_cast<Value*>(results.distances);
    const auto zero = static_cast<Value>(query_.rules.zero);
    const auto write = [&, root_stride = results.root_stride, end_stride = results.end_stride](int64_t end, int lane,
                                                                                               V value) {
      distances[index_of(lane) * root_stride + end * end_stride] =
          PathAlgebra::is_reachable(value) ? storing_.value(PathAlgebra::key(value), index_of(lane), end) : zero;
    };
    each_written(write, [&](int64_t end) { return row(query_.ends[end]); }, reporter);
  }

  void reduce(ProgressReporter& reporter) {
    for (Reducing& reducing : reducing_) reducing.begin();
    each_reached([&](int lane, double length, int32_t end) { reducing_[lane].add(length, end); }, reporter);
    for (int lane = 0; lane < count_; ++lane) reducing_[lane].write(index_of(lane));
  }

  /// Calls `add` with the lane, the path's length and the end, for each end that is reachable from a lane's root,
  /// except the root.
  template <class Add>
  void each_reached(Add add, ProgressReporter& reporter) {
    int32_t roots[kLanes];
    for (int lane = 0; lane < count_; ++lane) roots[lane] = root_of(lane);
    for (int64_t at = 0; at < query_.ends.count; ++at) {
      const int32_t end = query_.ends[at];
      const V* const values = row(end);
      for (int lane = 0; lane < count_; ++lane) {
        if (end == roots[lane] || !PathAlgebra::is_reachable(values[lane])) continue;
        add(lane, static_cast<double>(PathAlgebra::key(values[lane])), end);
      }
      reporter.count(count_);
    }
  }

  /// Calls `write` for each end and lane with the lane's element of the row that `row_of` returns.
  template <class Write, class RowOf>
  void each_written(Write write, RowOf row_of, ProgressReporter& reporter) {
    if (query_.results.root_stride == 1) {
      for (int64_t end = 0; end < query_.ends.count; ++end) {
        const auto* const values = row_of(end);
        for (int lane = 0; lane < count_; ++lane) write(end, lane, values[lane]);
        reporter.count(count_);
      }
      return;
    }
    decltype(row_of(0)) rows[kTogether];
    for (int64_t first = 0; first < query_.ends.count; first += kTogether) {
      const int64_t count = std::min(kTogether, query_.ends.count - first);
      for (int64_t at = 0; at < count; ++at) rows[at] = row_of(first + at);
      for (int lane = 0; lane < count_; ++lane) {
        for (int64_t at = 0; at < count; ++at) write(first + at, lane, rows[at][lane]);
      }
      reporter.count(count * count_);
    }
  }

  const int32_t* before_row(int32_t node) const { return before_.data() + int64_t{node} * kLanes; }

  /// Finds the predecessor of each node: the source of the first incoming edge that attains the node's value.
  void find_before(ProgressReporter& reporter) {
    for (int32_t node = 0; node < nodes_; ++node) {
      const V* const own = row(node);
      int32_t* const before = before_.data() + int64_t{node} * kLanes;
      for (auto edge = graph_.back.begin(node); edge != graph_.back.end(node); ++edge) {
        const V* const other = row(edge->to);
        const V weight = way_along<PathAlgebra>(*edge);
        for (int lane = 0; lane < kLanes; ++lane) {
          const bool decides =
              PathAlgebra::is_reachable(other[lane]) && joined<PathAlgebra>(other[lane], weight) == own[lane];
          before[lane] = decides && before[lane] < 0 ? edge->to : before[lane];
        }
      }
      reporter.count(int64_t{graph_.back.degree(node)} * count_ + 1);
    }
    for (int lane = 0; lane < count_; ++lane) before_[int64_t{root_of(lane)} * kLanes + lane] = -1;
  }

  /// Finds predecessors if neutral cycles may exist: a breadth-first search over the edges that attain values, so that
  /// predecessors form a tree.
  void search_before(ProgressReporter& reporter) {
    for (int lane = 0; lane < count_; ++lane) {
      const int32_t root = root_of(lane);
      int64_t count = 0;
      queue_[count++] = root;
      for (int64_t at = 0; at < count; ++at) {
        const int32_t i = queue_[at];
        const V own = row(i)[lane];
        for (auto edge = graph_.rows.begin(i); edge != graph_.rows.end(i); ++edge) {
          const int32_t j = edge->to;
          int32_t& before = before_[int64_t{j} * kLanes + lane];
          if (before >= 0 || j == root || joined<PathAlgebra>(own, way_along<PathAlgebra>(*edge)) != row(j)[lane])
            continue;
          before = i;
          queue_[count++] = j;
        }
        reporter.count(graph_.rows.degree(i) + 1);
      }
    }
  }

  void write_paths(ProgressReporter& reporter) {
    const Results& results = query_.results;
    if (results.next && !first_) {
      const auto write = [&](int64_t end, int lane, int32_t node) {
        results.next[index_of(lane) * results.root_stride + end * results.end_stride] = node;
      };
      each_written(write, [&](int64_t end) { return before_row(query_.ends[end]); }, reporter);
    }
    if (tree_.empty()) return;
    for (int lane = 0; lane < count_; ++lane) {
      const int64_t index = index_of(lane);
      for (int32_t node = 0; node < nodes_; ++node) tree_[node] = before_row(node)[lane];
      reporter.count(nodes_);
      if (results.trees) std::copy(tree_.begin(), tree_.end(), results.trees + index * nodes_);
      if (!first_) continue;
      first_->begin();
      for (int64_t end = 0; end < query_.ends.count; ++end) {
        results.next[index * results.root_stride + end * results.end_stride] =
            first_->of(root_of(lane), query_.ends[end], tree_);
      }
    }
  }

  const DissectedGraph<PathAlgebra, Key>& graph_;
  const Query& query_;
  const int32_t nodes_;
  Storing<Value> storing_;
  Array<V> memory_;
  V* table_;               ///< values of each node, in the order of positions
  Array<int32_t> before_;  ///< predecessor of each node, in the order of nodes
  Array<int32_t> tree_, queue_;
  std::optional<FirstNodes> first_;
  std::vector<Reducing> reducing_;  ///< reduction of each lane
  std::vector<uint8_t> is_above_;   ///< 1 for the supernodes of the roots and their ancestors
  int64_t first_index_ = 0;
  int count_ = 0;
};

/// Returns 1 for the supernodes of the ends and their ancestors: distances need sweeps of these only.
inline std::vector<uint8_t> needed_for(const Query& query, const Ordering& ordering,
                                       const Array<int32_t>& supernode_of) {
  const bool are_all = !query.ends.list || query.results.next || query.results.trees;
  std::vector<uint8_t> needed(ordering.supernodes.size(), are_all);
  if (are_all) return needed;
  for (int64_t end = 0; end < query.ends.count; ++end) {
    int32_t at = supernode_of[ordering.place[query.ends[end]]];
    for (; at >= 0 && !needed[at]; at = ordering.supernodes[at].parent) needed[at] = 1;
  }
  return needed;
}

/// Bytes of an entry and its reverse, during elimination and afterwards.
template <class PathAlgebra>
constexpr int64_t kBytesOfEntry = 4 * int64_t{sizeof(typename PathAlgebra::Value)};

/// Returns the bytes of one SweepWorker.
template <class PathAlgebra>
int64_t bytes_of_worker(const Query& query) {
  const bool has_paths = query.results.next || query.results.trees;
  const int64_t of_node = kLanes * int64_t{sizeof(typename PathAlgebra::Value)} + (has_paths ? kLanes * 4 + 16 : 0);
  return query.source.nodes * of_node;
}

/// Returns the eliminated graph of a query. Returns null if dissection doesn't pay, or if a cycle improves, even if no
/// requested path is affected.
template <class PathAlgebra, class Key>
std::shared_ptr<const Dissection> divide(const Query& query, const ThreadPool& pool, const Rows<Key>& rows) {
  using V = typename PathAlgebra::Value;
  const bool is_requested = query.method == Method::kDissection;
  const int64_t of_worker = bytes_of_worker<PathAlgebra>(query), of_entry = kBytesOfEntry<PathAlgebra>;
  int64_t most = (query.memory - of_worker) / of_entry;
  const double saved = saved_by_dissection(query, rows.edges.size(), rows.monotone, pool.threads);
  if (!is_requested) most = std::min(most, max_entries(query, saved, sizeof(V)));
  if (most <= query.source.nodes) return nullptr;
  std::optional<Ordering> ordering = dissect(neighbors_of(rows, query.watch), most, pool, query.watch);
  if (!ordering) return nullptr;
  const double eliminating =
      kEliminatePerStep * ordering->steps * pool.threads / static_cast<double>(query.roots.count);
  if (!is_requested && ordering->to_borders + ordering->inside > max_entries(query, saved - eliminating, sizeof(V))) {
    return nullptr;
  }
  const auto back = make_rows<Key>(query.source, query.rules, opposite(query.direction), query.watch);
  auto factors = Eliminating<PathAlgebra, Key>(rows, back, *ordering, pool, query.watch).make();
  if (factors.empty()) return nullptr;
  return std::make_shared<const Dissection>(PathAlgebra(), query.direction, std::move(*ordering), std::move(factors));
}

/// Answers a query by sweeps. Returns false if the graph isn't dissected. The values of PathAlgebra must represent the
/// values of all paths. `is_strict` as in DissectedGraph.
template <class PathAlgebra, class Value, class Key>
bool search_by_dissection(const Query& query, const ThreadPool& pool, const Rows<Key>& rows, bool is_strict) {
  std::shared_ptr<const Dissection> division = query.division;
  const int32_t nodes = query.source.nodes;
  if (!division || !division->factors<PathAlgebra>(query.direction, nodes))
    division = divide<PathAlgebra>(query, pool, rows);
  if (query.divided) *query.divided = division;
  if (!division || query.divided) return division != nullptr;

  const Ordering& ordering = division->ordering();
  const auto& factors = *division->factors<PathAlgebra>(query.direction, nodes);
  const bool has_paths = query.results.next || query.results.trees;
  Rows<Key> back;
  if (has_paths) back = make_rows<Key>(query.source, query.rules, opposite(query.direction), query.watch);
  DissectedGraph<PathAlgebra, Key> graph{query, rows, back,     ordering, factors, sweep_order(query, ordering),
                                         {},    {},   is_strict};
  graph.supernode_of = Array<int32_t>(nodes);
  for (size_t at = 0; at < ordering.supernodes.size(); ++at) {
    const Supernode& own = ordering.supernodes[at];
    std::fill(graph.supernode_of.begin() + own.first, graph.supernode_of.begin() + own.end, static_cast<int32_t>(at));
  }
  graph.needed = needed_for(query, ordering, graph.supernode_of);
  const int64_t kept = ordering.to_borders * kBytesOfEntry<PathAlgebra>;
  const int64_t max_workers = std::max<int64_t>(1, (query.memory - kept) / bytes_of_worker<PathAlgebra>(query));
  FirstOverflow overflow;
  deal(pool, max_workers, ceil_div(query.roots.count, int64_t{kLanes}), [&] {
    return [&, sweeping = std::make_shared<SweepWorker<PathAlgebra, Value, Key>>(graph, overflow)](int64_t part) {
      const int64_t first = part * kLanes, count = std::min<int64_t>(kLanes, query.roots.count - first);
      ProgressReporter reporter = reporter_of(query, count, int64_t{query.source.nodes} * count);
      sweeping->sweep(first, static_cast<int>(count), reporter);
      reporter.end();
    };
  });
  overflow.end(query.direction);
  return true;
}

}  // namespace mpmml::graph
