// Dijkstra's algorithm, for edges that improve no path.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/progress.h"
#include "core/graph/query_error.h"
#include "core/graph/radix_heap.h"
#include "core/graph/rows.h"
#include "core/graph/rules.h"

namespace mpmml::graph {

/// Returns the greatest key of a path whose value is no worse than `limit`.
template <class Key>
Key limit_key(std::optional<double> limit, bool maximizes) {
  using Range = std::numeric_limits<Key>;
  if (!limit) return Range::has_infinity ? Range::infinity() : Range::max();
  const double key = maximizes ? 0 - *limit : *limit;
  if constexpr (std::is_integral_v<Key>) {
    if (key >= static_cast<double>(Range::max())) return Range::max();
    if (key < static_cast<double>(Range::min())) return Range::min();
    return static_cast<Key>(std::floor(key));
  } else {
    // The result is the greatest number of the type that isn't above `key`.
    const Key rounded = static_cast<Key>(key);
    return static_cast<double>(rounded) > key ? std::nextafter(rounded, -Range::infinity()) : rounded;
  }
}

/// Requested nodes. A search ends when all of them are final.
struct RequestedNodes {
  Array<uint8_t> is;  ///< 1 for each requested node; empty if all nodes are requested
  int64_t count = -1;
};

/// Shortest-path tree of a root.
template <class Key>
struct Tree {
  Array<Key> key;         ///< key of the best path to each node
  Array<int32_t> before;  ///< predecessor of each node on that path; -1 for the root and for unreached nodes
};

/// Finalizes reached nodes in order of their keys, until the frontier is empty or the next key is above `limit`. The
/// frontier and `keys` contain the initial nodes. `finalize(key, node)` is called for each final node: it returns whether
/// the search continues along the node's edges, and may lower the limit. `reach(from, to, key)` returns whether the
/// edge may be used, and then records it.
template <class K, class NormalizeResult, class Reach>
void finalize_in_order(const Rows<typename K::EdgeKey>& rows, RadixHeap<typename K::PathKey>& frontier,
                       Array<typename K::PathKey>& keys, const typename K::PathKey& limit, ProgressReporter& reporter,
                       NormalizeResult finalize, Reach reach) {
  using PathKey = typename K::PathKey;
  PathKey* const key = keys.data();
  // An outdated entry has a worse key than its node.
  const auto is_current = [key](const HeapEntry<PathKey>& reached) { return reached.key == key[reached.node]; };
  for (HeapEntry<PathKey> least; frontier.take(least, is_current);) {
    const auto [own, i] = least;
    if (own > limit) break;
    if (is_inexact<K>(own)) throw QueryError{RefusalKind::kInexact};
    if (!finalize(own, i)) break;
    const PathKey most = limit;
    for (auto edge = rows.begin(i), end = rows.end(i); edge != end; ++edge) {
      const PathKey candidate = K::extend(own, edge->key);
      const int32_t j = edge->to;
      // No candidate is below the key of a final node.
      if (!(candidate < key[j]) || candidate > most || !reach(i, j, candidate)) continue;
      key[j] = candidate;
      frontier.push({candidate, j});
    }
    reporter.count(rows.degree(i) + 1);
  }
}

/// Best paths to the requested nodes from one root after another.
template <class K>
class Dijkstra {
 public:
  using PathKey = typename K::PathKey;
  using Graph = Rows<typename K::EdgeKey>;

  /// Paths whose key is above `limit` are excluded, the empty path of the root included.
  Dijkstra(const Graph& rows, const RequestedNodes& requested, bool keeps_tree, PathKey limit)
      : rows_(rows),
        requested_(requested),
        limit_(limit),
        tree_{Array<PathKey>(rows.nodes), Array<int32_t>(keeps_tree ? rows.nodes : 0)} {}

  Tree<PathKey>& tree() { return tree_; }

  void search(int32_t root, ProgressReporter& reporter) {
    tree_.key.fill(K::unreached());
    tree_.before.fill(-1);
    if (!begin(root)) return;
    int64_t left = requested_.count;
    const auto finalize = [&](PathKey, int32_t node) {
      return requested_.is.empty() || !requested_.is[node] || --left != 0;
    };
    if (tree_.before.empty()) {
      finalize_in_order<K>(rows_, frontier_, tree_.key, limit_, reporter, finalize,
                           [](int32_t, int32_t, PathKey) { return true; });
    } else {
      int32_t* const before = tree_.before.data();
      finalize_in_order<K>(rows_, frontier_, tree_.key, limit_, reporter, finalize,
                           [before](int32_t i, int32_t j, PathKey) {
                             before[j] = i;
                             return true;
                           });
    }
  }

  /// Finds the `most` nearest of the requested nodes, except the root, and all nodes that are as near as the last of
  /// them. The time doesn't depend on the number of unseen nodes.
  void search_nearest(int32_t root, int64_t most, ProgressReporter& reporter) {
    if (is_fresh_) tree_.key.fill(K::unreached());
    is_fresh_ = false;
    for (const int32_t node : seen_) tree_.key[node] = K::unreached();
    seen_.clear();
    if (!begin(root)) return;
    seen_.push_back(root);
    PathKey limit = limit_;
    const auto finalize = [&](PathKey own, int32_t node) {
      if (node != root && (requested_.is.empty() || requested_.is[node]) && --most == 0) limit = own;
      return true;
    };
    const auto reach = [key = tree_.key.data(), this](int32_t, int32_t node, PathKey) {
      if (key[node] == K::unreached()) seen_.push_back(node);
      return true;
    };
    finalize_in_order<K>(rows_, frontier_, tree_.key, limit, reporter, finalize, reach);
  }

  /// Returns the nodes that search_nearest() has seen: the nearest nodes, and some farther ones.
  const std::vector<int32_t>& seen() const { return seen_; }

 private:
  /// Starts a search. Returns false if even the empty path is beyond the limit.
  bool begin(int32_t root) {
    if (K::start() > limit_) return false;
    frontier_.reset(K::start());
    tree_.key[root] = K::start();
    frontier_.push({K::start(), root});
    return true;
  }

  const Graph& rows_;
  const RequestedNodes& requested_;
  const PathKey limit_;
  Tree<PathKey> tree_;
  RadixHeap<PathKey> frontier_;
  std::vector<int32_t> seen_;
  bool is_fresh_ = true;
};

}  // namespace mpmml::graph
