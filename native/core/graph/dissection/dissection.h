// Best paths from many nodes if small separators divide the graph: nodes are eliminated once, then the ways from roots are
// swept up to the separators and down to all nodes, for many roots at once. A sweep takes as many steps as elimination made
// entries, which are few for roads and grids.
// B. Carré, An algebra for network routing problems, IMA Journal of Applied Mathematics 7 (1971); D. Delling, A. Goldberg,
// A. Nowatzyk, R. Werneck, PHAST: hardware-accelerated shortest path trees, Journal of Parallel and Distributed Computing 73
// (2013).
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

/// Nanoseconds of a core, measured on grids of 1600 to 264 000 nodes; only their ratios matter, and only roughly.
constexpr double kSearchPerNode = 30, kSearchPerComparison = 3.5, kSearchPerEdge = 6;
/// With four bytes for each value.
constexpr double kSweepPerEntry = 0.1, kSweepPerNode = 2;
/// For each level of separators, and on one core: the largest separators are found one after the other.
constexpr double kOrderPerNode = 120;

/// For each step of elimination, on one core: the largest fronts are eliminated one after the other.
constexpr double kEliminatePerStep = 0.2;

/// The share of the graph that a search looks at: one for the nearest ends doesn't go farther, unless an edge gains.
inline double share_of_search(const Query& query, bool is_monotone) {
  if (query.results.reduction != Reduction::kNearest || !is_monotone) return 1;
  const auto most = static_cast<double>(query.results.max_nearest + 1);
  return std::min(1.0, most / static_cast<double>(query.ends.count));
}

/// What dissection saves for each root, against searches or Query::within, if elimination and sweeps took no time.
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

/// The most entries with which it saves time, if they have so many bytes; 0 if none.
inline int64_t max_entries(const Query& query, double saved, int64_t bytes) {
  const double per_byte = static_cast<double>(bytes) / 4;
  return std::max<int64_t>(
      0, static_cast<int64_t>((saved / per_byte - kSweepPerNode * query.source.nodes) / kSweepPerEntry));
}

/// The numbers of roots in the order in which they are swept.
inline Array<int64_t> sweep_order(const Query& query, const Ordering& ordering) {
  Array<int64_t> order(query.roots.count);
  std::iota(order.begin(), order.end(), int64_t{0});
  // Rows can be written in any order. Then roots of one part go up together.
  if (query.results.root_stride != 1) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return ordering.place[query.roots[a]] < ordering.place[query.roots[b]];
    });
  }
  return order;
}

/// A graph that is ready for sweeps.
template <class PathAlgebra, class Key>
struct DissectedGraph {
  const Query& query;
  const Rows<Key>& rows;
  const Rows<Key>& back;
  const Ordering& ordering;
  const std::vector<SupernodeFactor<typename PathAlgebra::Value>>& factors;
  Array<int64_t> order;
  Array<int32_t> supernode_of;  ///< each place
  std::vector<uint8_t> needed;  ///< 1 for supernodes whose nodes have values that matter
  /// Whether each edge makes paths worse. Then equal values are enough to find the node before another.
  bool is_strict = false;
};

/// Sweeps some roots at a time, and writes what is found. Each thread has one.
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

  /// The roots from number `first` of the order on.
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
  /// Rows and columns that are written together, so that they stay in the first-level cache.
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

  /// From the roots to all separators above them.
  void go_up(ProgressReporter& reporter) {
    const auto& supernodes = graph_.ordering.supernodes;
    for (size_t at = 0; at < supernodes.size(); ++at) {
      if (!is_above_[at]) continue;
      const std::vector<int32_t>& places = supernodes[at].places;
      relax_looking(places.data(), supernodes[at].size(), places.data(), static_cast<int64_t>(places.size()),
                    graph_.factors[at].out.data(), reporter);
    }
  }

  /// From separators to what hangs below them.
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

  /// relax() with weights of `targets` in a row, some targets at a time.
  void relax_looking(const int32_t* from, int64_t sources, const int32_t* to, int64_t targets, const V* weights,
                     ProgressReporter& reporter) {
    // relax() takes four targets together.
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

  /// Calls `add` with the lane, the length of its path and the end, for each end that a lane's root reaches, but for the root.
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

  /// Calls `write` for each end and lane with what the lane has in the row that `row_of` gives.
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

  /// Of the edges that enter a node, the first that decides its value.
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

  /// The same if cycles may change nothing: first those that the fewest edges lead to, of all edges that decide values.
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
  V* table_;               ///< by places: the values of each node
  Array<int32_t> before_;  ///< by nodes: the node before each
  Array<int32_t> tree_, queue_;
  std::optional<FirstNodes> first_;
  std::vector<Reducing> reducing_;  ///< of each lane
  std::vector<uint8_t> is_above_;   ///< 1 for the supernodes of the roots, and those above
  int64_t first_index_ = 0;
  int count_ = 0;
};

/// 1 for the supernodes of the ends, and those above: nothing else has to be swept for distances.
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

/// Bytes of an entry with its reverse while it is made and when it is kept.
template <class PathAlgebra>
constexpr int64_t kBytesOfEntry = 4 * int64_t{sizeof(typename PathAlgebra::Value)};

/// Of one thread that sweeps.
template <class PathAlgebra>
int64_t bytes_of_worker(const Query& query) {
  const bool has_paths = query.results.next || query.results.trees;
  const int64_t of_node = kLanes * int64_t{sizeof(typename PathAlgebra::Value)} + (has_paths ? kLanes * 4 + 16 : 0);
  return query.source.nodes * of_node;
}

/// Divides the graph of a query; null if that isn't worth it, or if a cycle gains, which may be one that doesn't matter.
template <class PathAlgebra, class Key>
std::shared_ptr<const Division> divide(const Query& query, const ThreadPool& pool, const Rows<Key>& rows) {
  using V = typename PathAlgebra::Value;
  const bool is_wished = query.method == Method::kDissection;
  const int64_t of_worker = bytes_of_worker<PathAlgebra>(query), of_entry = kBytesOfEntry<PathAlgebra>;
  int64_t most = (query.memory - of_worker) / of_entry;
  const double saved = saved_by_dissection(query, rows.edges.size(), rows.monotone, pool.threads);
  if (!is_wished) most = std::min(most, max_entries(query, saved, sizeof(V)));
  if (most <= query.source.nodes) return nullptr;
  std::optional<Ordering> ordering = dissect(neighbors_of(rows, query.watch), most, pool, query.watch);
  if (!ordering) return nullptr;
  const double eliminating =
      kEliminatePerStep * ordering->steps * pool.threads / static_cast<double>(query.roots.count);
  if (!is_wished && ordering->to_borders + ordering->inside > max_entries(query, saved - eliminating, sizeof(V))) {
    return nullptr;
  }
  const auto back = make_rows<Key>(query.source, query.rules, opposite(query.direction), query.watch);
  auto factors = Eliminating<PathAlgebra, Key>(rows, back, *ordering, pool, query.watch).make();
  if (factors.empty()) return nullptr;
  return std::make_shared<const Division>(PathAlgebra(), query.direction, std::move(*ordering), std::move(factors));
}

/// Answers a query; false if the graph isn't divided. The values of PathAlgebra must hold those of all paths. `is_strict` as in
/// Dissected.
template <class PathAlgebra, class Value, class Key>
bool search_by_dissection(const Query& query, const ThreadPool& pool, const Rows<Key>& rows, bool is_strict) {
  std::shared_ptr<const Division> division = query.division;
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
