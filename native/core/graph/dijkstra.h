// Searches in which no edge makes a path better: the best unfinished node is final.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "core/graph/array.h"
#include "core/graph/radix_heap.h"
#include "core/graph/refusal.h"
#include "core/graph/rows.h"
#include "core/graph/rules.h"
#include "core/graph/watch.h"

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

/// Best paths from one root after another.
template <class K>
class Dijkstra {
 public:
  using PathKey = typename K::PathKey;
  using Graph = Rows<typename K::EdgeKey>;

  /// Paths whose key is above `limit` aren't looked for, the empty path of the root included.
  Dijkstra(const Graph& rows, bool keeps_tree, PathKey limit)
      : rows_(rows), limit_(limit), tree_{Array<PathKey>(rows.nodes), Array<int32_t>(keeps_tree ? rows.nodes : 0)} {}

  Tree<PathKey>& tree() { return tree_; }

  void search(int32_t root, const Wanted& wanted, Looker& looker) {
    tree_.key.fill(K::unreached());
    tree_.before.fill(-1);
    if (K::start() > limit_) return;
    frontier_.reset(K::start());
    tree_.key[root] = K::start();
    frontier_.push({K::start(), root});
    tree_.before.empty() ? run<false>(wanted, looker) : run<true>(wanted, looker);
  }

  /// Ends when it has the `most` nearest of the wanted nodes, the root left out, and all others that are as near as the last of
  /// them. It takes no time for nodes that it doesn't see.
  void search_nearest(int32_t root, const Wanted& wanted, int64_t most, Looker& looker) {
    if (is_fresh_) tree_.key.fill(K::unreached());
    is_fresh_ = false;
    for (const int32_t node : seen_) tree_.key[node] = K::unreached();
    seen_.clear();
    if (K::start() > limit_) return;
    frontier_.reset(K::start());
    tree_.key[root] = K::start();
    seen_.push_back(root);
    frontier_.push({K::start(), root});
    run_nearest(root, wanted, most, looker);
  }

  /// The nodes that search_nearest() has seen. They are those that it was to find, and some that are farther.
  const std::vector<int32_t>& seen() const { return seen_; }

 private:
  void run_nearest(int32_t root, const Wanted& wanted, int64_t left, Looker& looker) {
    PathKey* const key = tree_.key.data();
    PathKey limit = limit_;
    // Otherwise there was a better path meanwhile.
    const auto is_current = [key](const Reached<PathKey>& reached) { return reached.key == key[reached.node]; };
    for (Reached<PathKey> least; frontier_.take(least, is_current);) {
      const auto [own, i] = least;
      if (own > limit) break;
      if (is_inexact<K>(own)) throw Refusal{RefusalKind::kInexact};
      if (i != root && (wanted.is.empty() || wanted.is[i]) && --left == 0) limit = own;
      for (auto edge = rows_.begin(i), end = rows_.end(i); edge != end; ++edge) {
        const PathKey candidate = K::extend(own, edge->key);
        const int32_t j = edge->to;
        if (!(candidate < key[j]) || candidate > limit) continue;
        if (key[j] == K::unreached()) seen_.push_back(j);
        key[j] = candidate;
        frontier_.push({candidate, j});
      }
      looker.count(rows_.degree(i) + 1);
    }
  }

  template <bool keeps_tree>
  void run(const Wanted& wanted, Looker& looker) {
    PathKey* const key = tree_.key.data();
    int64_t left = wanted.count;
    const auto is_current = [key](const Reached<PathKey>& reached) { return reached.key == key[reached.node]; };
    for (Reached<PathKey> least; frontier_.take(least, is_current);) {
      const auto [own, i] = least;
      if (is_inexact<K>(own)) throw Refusal{RefusalKind::kInexact};
      if (!wanted.is.empty() && wanted.is[i] && --left == 0) break;
      for (auto edge = rows_.begin(i), end = rows_.end(i); edge != end; ++edge) {
        const PathKey candidate = K::extend(own, edge->key);
        const int32_t j = edge->to;
        // A node that is final has a key that no candidate is below.
        if (!(candidate < key[j]) || candidate > limit_) continue;
        key[j] = candidate;
        if constexpr (keeps_tree) tree_.before[j] = i;
        frontier_.push({candidate, j});
      }
      looker.count(rows_.degree(i) + 1);
    }
  }

  const Graph& rows_;
  const PathKey limit_;
  Tree<PathKey> tree_;
  RadixHeap<PathKey> frontier_;
  std::vector<int32_t> seen_;
  bool is_fresh_ = true;
};

}  // namespace mpmml::graph
