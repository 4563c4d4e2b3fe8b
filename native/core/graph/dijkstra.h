// Searches in which no edge makes a path better: the best unfinished node is final.
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

/// The key that no path may be above if its value may be no worse than `limit`.
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
    // The greatest number of the type that isn't above it.
    const Key rounded = static_cast<Key>(key);
    return static_cast<double>(rounded) > key ? std::nextafter(rounded, -Range::infinity()) : rounded;
  }
}

/// The nodes that are to be reached; a search ends when it has all of them.
struct Wanted {
  Array<uint8_t> is;  ///< 1 for each; empty if all nodes are wanted
  int64_t count = -1;
};

/// The best paths from a root: a tree.
template <class Key>
struct Tree {
  Array<Key> key;         ///< of the best path to each node
  Array<int32_t> before;  ///< the node before each on that path; -1 for the root, and for nodes that aren't reached
};

/// Settles reached nodes in order of their keys, which then are final, until none is left or the next one is above `limit`. The frontier
/// and `key` have the nodes to begin with. `settle(key, node)` returns whether to go on to the edges of the node and may lower the limit;
/// `reach(from, to, key)` returns whether the edge may be taken, and then notes it.
template <class K, class NormalizeResult, class Reach>
void settle_in_order(const Rows<typename K::EdgeKey>& rows, RadixHeap<typename K::PathKey>& frontier,
                     Array<typename K::PathKey>& keys, const typename K::PathKey& limit, ProgressReporter& reporter,
                     NormalizeResult settle, Reach reach) {
  using PathKey = typename K::PathKey;
  PathKey* const key = keys.data();
  // Otherwise there was a better path meanwhile.
  const auto is_current = [key](const HeapEntry<PathKey>& reached) { return reached.key == key[reached.node]; };
  for (HeapEntry<PathKey> least; frontier.take(least, is_current);) {
    const auto [own, i] = least;
    if (own > limit) break;
    if (is_inexact<K>(own)) throw QueryError{RefusalKind::kInexact};
    if (!settle(own, i)) break;
    const PathKey most = limit;
    for (auto edge = rows.begin(i), end = rows.end(i); edge != end; ++edge) {
      const PathKey candidate = K::extend(own, edge->key);
      const int32_t j = edge->to;
      // A node that is final has a key that no candidate is below.
      if (!(candidate < key[j]) || candidate > most || !reach(i, j, candidate)) continue;
      key[j] = candidate;
      frontier.push({candidate, j});
    }
    reporter.count(rows.degree(i) + 1);
  }
}

/// Best paths from one root after another to the nodes that are wanted.
template <class K>
class Dijkstra {
 public:
  using PathKey = typename K::PathKey;
  using Graph = Rows<typename K::EdgeKey>;

  /// Paths whose key is above `limit` aren't looked for, the empty path of the root included.
  Dijkstra(const Graph& rows, const Wanted& wanted, bool keeps_tree, PathKey limit)
      : rows_(rows),
        wanted_(wanted),
        limit_(limit),
        tree_{Array<PathKey>(rows.nodes), Array<int32_t>(keeps_tree ? rows.nodes : 0)} {}

  Tree<PathKey>& tree() { return tree_; }

  void search(int32_t root, ProgressReporter& reporter) {
    tree_.key.fill(K::unreached());
    tree_.before.fill(-1);
    if (!begin(root)) return;
    int64_t left = wanted_.count;
    const auto settle = [&](PathKey, int32_t node) { return wanted_.is.empty() || !wanted_.is[node] || --left != 0; };
    if (tree_.before.empty()) {
      settle_in_order<K>(rows_, frontier_, tree_.key, limit_, reporter, settle,
                         [](int32_t, int32_t, PathKey) { return true; });
    } else {
      int32_t* const before = tree_.before.data();
      settle_in_order<K>(rows_, frontier_, tree_.key, limit_, reporter, settle,
                         [before](int32_t i, int32_t j, PathKey) {
                           before[j] = i;
                           return true;
                         });
    }
  }

  /// Ends when it has the `most` nearest of the wanted nodes, the root left out, and all others that are as near as the last of
  /// them. It takes no time for nodes that it doesn't see.
  void search_nearest(int32_t root, int64_t most, ProgressReporter& reporter) {
    if (is_fresh_) tree_.key.fill(K::unreached());
    is_fresh_ = false;
    for (const int32_t node : seen_) tree_.key[node] = K::unreached();
    seen_.clear();
    if (!begin(root)) return;
    seen_.push_back(root);
    PathKey limit = limit_;
    const auto settle = [&](PathKey own, int32_t node) {
      if (node != root && (wanted_.is.empty() || wanted_.is[node]) && --most == 0) limit = own;
      return true;
    };
    const auto reach = [key = tree_.key.data(), this](int32_t, int32_t node, PathKey) {
      if (key[node] == K::unreached()) seen_.push_back(node);
      return true;
    };
    settle_in_order<K>(rows_, frontier_, tree_.key, limit, reporter, settle, reach);
  }

  /// The nodes that search_nearest() has seen. They are those that it was to find, and some that are farther.
  const std::vector<int32_t>& seen() const { return seen_; }

 private:
  /// False if even the empty path is beyond the limit.
  bool begin(int32_t root) {
    if (K::start() > limit_) return false;
    frontier_.reset(K::start());
    tree_.key[root] = K::start();
    frontier_.push({K::start(), root});
    return true;
  }

  const Graph& rows_;
  const Wanted& wanted_;
  const PathKey limit_;
  Tree<PathKey> tree_;
  RadixHeap<PathKey> frontier_;
  std::vector<int32_t> seen_;
  bool is_fresh_ = true;
};

}  // namespace mpmml::graph
