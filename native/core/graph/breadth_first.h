// Breadth-first searches: paths of the fewest edges, regardless of weights.
#pragma once
#include <cstdint>

#include "core/graph/array.h"
#include "core/graph/dijkstra.h"
#include "core/graph/progress.h"
#include "core/graph/rows.h"

namespace mpmml::graph {

/// Breadth-first search from one root.
template <class Key>
class BreadthFirst {
 public:
  /// Key of unreached nodes; the key of reached nodes is 0.
  static constexpr uint8_t kUnreached = 1;

  BreadthFirst(const Rows<Key>& rows, const RequestedNodes& requested)
      : rows_(rows),
        requested_(requested),
        tree_{Array<uint8_t>(rows.nodes), Array<int32_t>(rows.nodes)},
        queue_(rows.nodes) {}

  Tree<uint8_t>& tree() { return tree_; }

  void search(int32_t root, ProgressReporter& reporter) {
    tree_.key.fill(kUnreached);
    tree_.before.fill(-1);
    tree_.key[root] = 0;
    int64_t left = requested_.count;
    if (!requested_.is.empty() && requested_.is[root] && --left == 0) return;
    int64_t length = 0;
    queue_[length++] = root;
    for (int64_t head = 0; head < length; ++head) {
      const int32_t i = queue_[head];
      for (auto edge = rows_.begin(i), end = rows_.end(i); edge != end; ++edge) {
        const int32_t j = edge->to;
        if (tree_.key[j] == 0) continue;
        tree_.key[j] = 0;
        tree_.before[j] = i;
        queue_[length++] = j;
        if (!requested_.is.empty() && requested_.is[j] && --left == 0) return;
      }
      reporter.count(rows_.degree(i) + 1);
    }
  }

 private:
  const Rows<Key>& rows_;
  const RequestedNodes& requested_;
  Tree<uint8_t> tree_;
  Array<int32_t> queue_;
};

/// Breadth-first search from multiple roots at once, without paths: each node has a bit for each root that reaches it.
/// Based on MS-BFS (M. Then and others, The more the merrier: efficient multi-source graph traversal, VLDB 8 (2014)),
/// but a node is visited again when it has new bits.
template <class Key>
class MultiSourceBfs {
 public:
  static constexpr int64_t kRoots = 64;

  explicit MultiSourceBfs(const Rows<Key>& rows)
      : rows_(rows), seen_(rows.nodes), fresh_(rows.nodes), queue_(rows.nodes) {}

  /// Returns the roots that reach a node: bit r is for the root with index `first + r`.
  uint64_t reaching(int32_t node) const { return seen_[node]; }

  template <class Roots>
  void search(const Roots& roots, int64_t first, int64_t count, ProgressReporter& reporter) {
    seen_.fill(0);
    fresh_.fill(0);
    int64_t head = 0, queued = 0;
    // A node is in the queue at most once.
    const auto add = [&](int32_t node, uint64_t bits) {
      const uint64_t added = bits & ~seen_[node];
      if (added == 0) return;
      seen_[node] |= added;
      if (fresh_[node] == 0) {
        const int64_t at = head + queued++;
        queue_[at < rows_.nodes ? at : at - rows_.nodes] = node;
      }
      fresh_[node] |= added;
    };
    for (int64_t at = 0; at < count; ++at) add(roots[first + at], uint64_t{1} << at);
    while (queued > 0) {
      const int32_t i = queue_[head];
      head = head + 1 == rows_.nodes ? 0 : head + 1;
      --queued;
      const uint64_t bits = fresh_[i];
      fresh_[i] = 0;
      for (auto edge = rows_.begin(i), end = rows_.end(i); edge != end; ++edge) add(edge->to, bits);
      reporter.count(rows_.degree(i) + 1);
    }
  }

 private:
  const Rows<Key>& rows_;
  Array<uint64_t> seen_, fresh_;
  Array<int32_t> queue_;
};

}  // namespace mpmml::graph
