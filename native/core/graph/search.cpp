#include "core/graph/search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/graph/breadth_first.h"
#include "core/graph/dijkstra.h"
#include "core/graph/dissection/dissection.h"
#include "core/graph/label_correcting.h"
#include "core/graph/lanes.h"
#include "core/graph/potentials.h"
#include "core/graph/results.h"
#include "core/graph/rows.h"
#include "core/problem/layout.h"

namespace mpmml::graph {
namespace {

RequestedNodes requested_nodes(const Query& query) {
  RequestedNodes requested;
  if (!query.ends.list) return requested;
  requested.is = Array<uint8_t>(query.source.nodes, 0);
  requested.count = 0;
  for (int64_t at = 0; at < query.ends.count; ++at) {
    uint8_t& is = requested.is[query.ends[at]];
    if (is) continue;
    is = 1;
    ++requested.count;
  }
  return requested;
}

/// Writes the results of one root after another. Each thread has one writer.
template <class Value>
class Writer {
 public:
  Writer(const Query& query, FirstOverflow& overflow)
      : query_(query),
        storing_(query, overflow),
        distances_(static_cast<Value*>(query.results.distances)),
        reducing_(query) {
    if (query.results.next && query.direction == Direction::kForward) first_.emplace(query.source.nodes);
  }

  /// Writes the results of one root. `key_of` returns the key of a node, or `unreached` if no path exists.
  template <class Key, class KeyOf>
  void write(int64_t index, const Array<int32_t>& before, Key unreached, KeyOf key_of) {
    const Results& results = query_.results;
    const int32_t root = query_.roots[index];
    if (results.reduction != Reduction::kNone) {
      reducing_.begin();
      for (int64_t at = 0; at < query_.ends.count; ++at) {
        const int32_t end = query_.ends[at];
        const Key key = key_of(end);
        if (end != root && key != unreached) reducing_.add(static_cast<double>(key), end);
      }
      return reducing_.write(index);
    }
    if (first_) first_->begin();
    for (int64_t at = 0; at < query_.ends.count; ++at) {
      const int32_t end = query_.ends[at];
      const int64_t place = index * results.root_stride + at * results.end_stride;
      const Key key = key_of(end);
      distances_[place] = key == unreached ? static_cast<Value>(query_.rules.zero) : storing_.value(key, index, at);
      if (!results.next) continue;
      results.next[place] = first_ ? first_->of(root, end, before) : before[end];
    }
    if (results.trees) std::copy(before.begin(), before.end(), results.trees + index * query_.source.nodes);
  }

 private:
  const Query& query_;
  Storing<Value> storing_;
  Value* const distances_;
  std::optional<FirstNodes> first_;
  Reducing reducing_;
};

template <class Key>
int64_t size_of(const Rows<Key>& rows) {
  return rows.nodes + rows.edges.size();
}

/// Searches from each root. `make_search` creates the object that finds a tree from a root, and visits `size` nodes and
/// edges for it. `key_of(tree, root, node)` is the key of a path, or `unreached`.
template <class Value, class Key, class MakeSearch, class KeyOf>
void search_each(const Query& query, const ThreadPool& pool, int64_t size, Key unreached, MakeSearch make_search,
                 KeyOf key_of) {
  FirstOverflow overflow;
  deal(pool, query.max_workers, query.roots.count, [&] {
    return [&, search = std::shared_ptr<decltype(make_search())>(new auto(make_search())),
            writer = std::make_shared<Writer<Value>>(query, overflow)](int64_t part) {
      ProgressReporter reporter = reporter_of(query, 1, size);
      const int32_t root = query.roots[part];
      search->search(root, reporter);
      const auto& tree = search->tree();
      writer->write(part, tree.before, unreached, [&](int32_t node) { return key_of(tree, root, node); });
      reporter.end();
    };
  });
  // Overflows are reported last, because an improving cycle has precedence, as in closures.
  overflow.end(query.direction);
}

/// Returns the key that the tree contains.
constexpr auto kKeyOfTree = [](const auto& tree, int32_t /*root*/, int32_t node) { return tree.key[node]; };

bool keeps_tree(const Query& query) { return query.results.next || query.results.trees; }

template <class K>
typename K::PathKey limit_of(const Query& query) {
  return limit_key<typename K::PathKey>(query.limit, query.rules.maximizes);
}

/// Searches that end after the nearest nodes.
template <class K>
void search_nearest(const Query& query, const ThreadPool& pool, const Rows<typename K::EdgeKey>& rows) {
  const RequestedNodes requested = requested_nodes(query);
  deal(pool, query.max_workers, query.roots.count, [&] {
    return [&, dijkstra = std::make_shared<Dijkstra<K>>(rows, requested, false, limit_of<K>(query)),
            reducing = Reducing(query)](int64_t part) mutable {
      ProgressReporter reporter = reporter_of(query, 1, size_of(rows));
      const int32_t root = query.roots[part];
      dijkstra->search_nearest(root, query.results.max_nearest, reporter);
      reducing.begin();
      for (const int32_t node : dijkstra->seen()) {
        if (node == root || (!requested.is.empty() && !requested.is[node])) continue;
        reducing.add(static_cast<double>(dijkstra->tree().key[node]), node);
      }
      reducing.write(part);
      reporter.end();
    };
  });
}

template <class K, class Value>
void search_monotone(const Query& query, const ThreadPool& pool, const Rows<typename K::EdgeKey>& rows) {
  if (query.results.reduction == Reduction::kNearest) return search_nearest<K>(query, pool, rows);
  const RequestedNodes requested = requested_nodes(query);
  const auto make_search = [&] { return Dijkstra<K>(rows, requested, keeps_tree(query), limit_of<K>(query)); };
  search_each<Value>(query, pool, size_of(rows), K::unreached(), make_search, kKeyOfTree);
}

/// Minimum number of roots per thread at which lanes take less time than separate searches.
constexpr int64_t kFewestLanes = 6;

/// Maximum size of a table in bytes that stays in a near cache.
constexpr int64_t kMaxBytesOfLanes = int64_t{1} << 21;

/// Searches from many roots at once. Returns false if separate searches are to be used.
template <class K, class Value>
bool search_in_lanes(const Query& query, const ThreadPool& pool, const Rows<int32_t>& rows) {
  const Results& results = query.results;
  const bool ends_early = query.limit || results.reduction == Reduction::kNearest;
  if (keeps_tree(query) || ends_early || !rows.monotone) return false;
  if (!Lanes::PathAlgebra::holds(rows.largest * query.source.nodes)) return false;
  const int64_t threads = std::min<int64_t>(pool.threads, query.max_workers);
  const int64_t lanes = std::min(Lanes::kMost, ceil_div(query.roots.count, threads));
  if (lanes < kFewestLanes || (query.ends.list && query.ends.count < kFewestLanes)) return false;
  const int64_t bytes = Lanes::bytes(query.source.nodes, lanes);
  if (bytes > std::min(kMaxBytesOfLanes, query.memory)) return false;
  const RequestedNodes requested = requested_nodes(query);
  const Array<int32_t> no_tree;
  FirstOverflow overflow;
  std::atomic<bool> is_slow{false};
  const int64_t max_workers = std::min(query.max_workers, query.memory / bytes);
  deal(pool, max_workers, ceil_div(query.roots.count, lanes), [&] {
    return [&, own = std::make_shared<Lanes>(rows, lanes), dijkstra = std::shared_ptr<Dijkstra<K>>(),
            writer = std::make_shared<Writer<Value>>(query, overflow)](int64_t part) mutable {
      const int64_t first = part * lanes, count = std::min(lanes, query.roots.count - first);
      ProgressReporter reporter = reporter_of(query, count, size_of(rows) * count);
      if (!is_slow.load() && own->search(query.roots, first, count, reporter)) {
        for (int64_t lane = 0; lane < count; ++lane) {
          const auto key_of = [&](int32_t node) {
            const int32_t length = own->length(node, lane);
            return Lanes::PathAlgebra::is_reachable(length) ? length : K::unreached();
          };
          writer->write(first + lane, no_tree, K::unreached(), key_of);
        }
      } else {
        is_slow.store(true);
        if (!dijkstra) dijkstra = std::make_shared<Dijkstra<K>>(rows, requested, false, limit_of<K>(query));
        for (int64_t index = first; index < first + count; ++index) {
          dijkstra->search(query.roots[index], reporter);
          const auto key_of = [&](int32_t node) { return dijkstra->tree().key[node]; };
          writer->write(index, no_tree, K::unreached(), key_of);
        }
      }
      reporter.end();
    };
  });
  overflow.end(query.direction);
  return true;
}

/// Searches the reweighted graph, and writes path keys in terms of the original weights.
template <class Value>
void search_reweighted(const Query& query, const ThreadPool& pool, const JohnsonGraph& reweighted) {
  using K = Keys<Extension::kSum, int64_t, int64_t>;
  const RequestedNodes requested = requested_nodes(query);
  const auto make_search = [&] { return Dijkstra<K>(reweighted.rows, requested, keeps_tree(query), K::unreached()); };
  const auto key_of = [&](const Tree<int64_t>& tree, int32_t root, int32_t node) {
    const int64_t own = tree.key[node];
    return own == K::unreached() ? own : own + reweighted.potential[node] - reweighted.potential[root];
  };
  search_each<Value>(query, pool, size_of(reweighted.rows), K::unreached(), make_search, key_of);
}

/// Searches a graph whose edges may improve paths. Frees `rows` as soon as reweighted rows replace them.
template <class K, class Value>
void search_correcting(const Query& query, const ThreadPool& pool, Rows<typename K::EdgeKey> rows) {
  if (query.limit) throw QueryError{RefusalKind::kGains};
  // An improving cycle doesn't matter if no requested node is reachable from it.
  Array<uint8_t> reaching;
  if (query.ends.list) {
    const auto back = make_rows<typename K::EdgeKey>(query.source, query.rules, opposite(query.direction), query.watch);
    reaching = reached(back, query.ends, query.watch);
  }
  const Components components =
      components_of(rows, query.roots, query.ends.list ? reaching.data() : nullptr, query.watch);
  if constexpr (K::is_exact) {
    if (should_use_potentials(rows.nodes, rows.largest, components, query.roots.count)) {
      const JohnsonGraph reweighted = reweight<K>(rows, components, query.watch);
      rows = {};
      return search_reweighted<Value>(query, pool, reweighted);
    }
  }
  const auto make_search = [&] { return LabelCorrecting<K>(rows, components); };
  search_each<Value>(query, pool, size_of(rows), K::unreached(), make_search, kKeyOfTree);
}

/// Returns whether every edge makes paths worse. Sums must be exact.
template <class Key>
bool is_strict(const Rows<Key>& rows) {
  return std::all_of(rows.edges.begin(), rows.edges.end(), [](const Edge<Key>& edge) { return edge.key > 0; });
}

/// Answers a query by dissection. Returns false if searches are to be used.
template <class K, class Value>
bool search_dissected(const Query& query, const ThreadPool& pool, const Rows<typename K::EdgeKey>& rows) {
  using Key = typename K::EdgeKey;
  if (query.method == Method::kSearch || query.limit) return false;
  if constexpr (K::extension == Extension::kBottleneck) {
    if constexpr (std::is_integral_v<Key>) {
      if (!Bottlenecks<int32_t>::holds(rows.largest)) {
        return search_by_dissection<Float64Bottlenecks, Value>(query, pool, rows, false);
      }
    }
    return search_by_dissection<Bottlenecks<Key>, Value>(query, pool, rows, false);
  } else if constexpr (K::is_exact) {
    const double most = rows.largest * query.source.nodes;
    if (Lengths<int32_t>::holds(most)) {
      return search_by_dissection<Lengths<int32_t>, Value>(query, pool, rows, is_strict(rows));
    }
    if (!Lengths<double>::holds(most)) return false;
    return search_by_dissection<Lengths<double>, Value>(query, pool, rows, is_strict(rows));
  } else {
    // Rounding depends on the order of sums, so equal values don't identify predecessors.
    if (!rows.monotone || keeps_tree(query)) return false;
    using PathAlgebra = std::conditional_t<K::extension == Extension::kSum, Lengths<Key>, Products<Key>>;
    return search_by_dissection<PathAlgebra, Value>(query, pool, rows, false);
  }
}

template <class K, class Value>
Method search_keyed(const Query& query, const ThreadPool& pool) {
  auto rows = make_rows<typename K::EdgeKey>(query.source, query.rules, query.direction, query.watch);
  if (search_dissected<K, Value>(query, pool, rows)) return Method::kDissection;
  if (query.divided) return Method::kSearch;
  if constexpr (K::is_exact) {
    using Int32Keys = Keys<Extension::kSum, int32_t, int32_t>;
    // A search evaluates paths with one edge more than the longest simple path: an edge back to a node on it.
    const bool fits = rows.largest * query.source.nodes < std::numeric_limits<int32_t>::max();
    if (search_in_lanes<Int32Keys, Value>(query, pool, rows)) return Method::kSearch;
    if (rows.monotone && fits) {
      search_monotone<Int32Keys, Value>(query, pool, rows);
      return Method::kSearch;
    }
  }
  if constexpr (K::extension == Extension::kBottleneck) {
    search_monotone<K, Value>(query, pool, rows);
  } else if (rows.monotone) {
    search_monotone<K, Value>(query, pool, rows);
  } else {
    search_correcting<K, Value>(query, pool, std::move(rows));
  }
  return Method::kSearch;
}

Method search_links(const Query& query, const ThreadPool& pool) {
  const Rows<NoKey> rows = make_rows<NoKey>(query.source, query.rules, query.direction, query.watch);
  // Multi-source BFS handles 64 roots per step, so searches take less time.
  if (query.method == Method::kDissection &&
      search_by_dissection<Bottlenecks<int32_t>, uint8_t>(query, pool, rows, false)) {
    return Method::kDissection;
  }
  if (query.divided) return Method::kSearch;
  if (keeps_tree(query)) {
    const RequestedNodes requested = requested_nodes(query);
    const auto make_search = [&] { return BreadthFirst<NoKey>(rows, requested); };
    search_each<uint8_t>(query, pool, size_of(rows), BreadthFirst<NoKey>::kUnreached, make_search, kKeyOfTree);
    return Method::kSearch;
  }
  constexpr int64_t kRoots = MultiSourceBfs<NoKey>::kRoots;
  auto* const distances = static_cast<uint8_t*>(query.results.distances);
  const Results& results = query.results;
  deal(pool, query.max_workers, ceil_div(query.roots.count, kRoots), [&] {
    return [&, together = std::make_shared<MultiSourceBfs<NoKey>>(rows)](int64_t part) {
      const int64_t first = part * kRoots, count = std::min(kRoots, query.roots.count - first);
      ProgressReporter reporter = reporter_of(query, count, size_of(rows) * count);
      together->search(query.roots, first, count, reporter);
      for (int64_t at = 0; at < query.ends.count; ++at) {
        const uint64_t reaching = together->reaching(query.ends[at]);
        uint8_t* const place = distances + first * results.root_stride + at * results.end_stride;
        for (int64_t root = 0; root < count; ++root) place[root * results.root_stride] = reaching >> root & 1;
      }
      reporter.end();
    };
  });
  return Method::kSearch;
}

// The only bottleneck semiring here is max-min: the key of the empty path is that of the greatest integer.
constexpr int64_t kBestBottleneck = -int64_t{MaxMin<int32_t>::one};
static_assert(Keys<Extension::kBottleneck, int32_t, int64_t>::start() == kBestBottleneck);
static_assert(Bottlenecks<int32_t>::start() == kBestBottleneck && Float64Bottlenecks::start() == kBestBottleneck);

Method search_of_type(const Query& query, const ThreadPool& pool) {
  using E = Extension;
  const auto of_type = [&](auto kind) {
    constexpr Extension extension = decltype(kind)::value;
    if (query.type == DataType::kFloat32) return search_keyed<Keys<extension, float, float>, float>(query, pool);
    if (query.type == DataType::kFloat64) return search_keyed<Keys<extension, double, double>, double>(query, pool);
    if constexpr (extension != E::kProduct) {
      return search_keyed<Keys<extension, int32_t, int64_t>, int32_t>(query, pool);
    } else {
      return query.method;
    }
  };
  switch (query.rules.extension) {
    case E::kSum:
      return of_type(std::integral_constant<E, E::kSum>());
    case E::kProduct:
      return of_type(std::integral_constant<E, E::kProduct>());
    case E::kBottleneck:
      if (!query.rules.maximizes) throw std::logic_error("bottlenecks are searched for max-min only");
      return of_type(std::integral_constant<E, E::kBottleneck>());
    case E::kLinks:
      break;
  }
  return search_links(query, pool);
}

}  // namespace

Method search(const Query& query, const ThreadPool& pool) {
  if (query.roots.count == 0 || query.ends.count == 0) return query.method;
  const Method method = search_of_type(query, pool);
  // Searches have reported an improving cycle already, or found that it doesn't matter.
  if (query.method == Method::kDissection && method != query.method) throw QueryError{RefusalKind::kUndivided};
  return method;
}

}  // namespace mpmml::graph
