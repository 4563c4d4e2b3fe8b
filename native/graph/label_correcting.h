// Searches in which edges may make paths better that have reached a node before.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/components.h"
#include "graph/dijkstra.h"
#include "graph/exact.h"
#include "graph/preorder.h"
#include "graph/refusal.h"
#include "graph/rows.h"
#include "graph/rules.h"
#include "graph/watch.h"

namespace mpmml::graph {

/// Best paths, one strong component after another: what a component gets from those before it is final. A component of one
/// node costs its edges, so in a graph without cycles each edge is looked at once. Others are searched by Bellman and Ford
/// with a queue; a node that becomes better takes all that hang below it out of the tree, and if it hangs below itself there
/// is a cycle that gains. R. E. Tarjan, Shortest paths, AT&T Bell Laboratories (1981); B. V. Cherkassky, A. V. Goldberg,
/// Negative-cycle detection algorithms, Mathematical Programming 85 (1999).
///
/// A cycle that gains is thrown as a Refusal, in the direction of the rows.
template <class K>
class LabelCorrecting {
 public:
  using PathKey = typename K::PathKey;
  using EdgeKey = typename K::EdgeKey;
  using Graph = Rows<EdgeKey>;

  LabelCorrecting(const Graph& rows, const Components& components)
      : rows_(rows),
        components_(components),
        tree_{Array<PathKey>(rows.nodes), Array<int32_t>(rows.nodes)},
        hanging_(rows.nodes),
        queue_(rows.nodes) {}

  Tree<PathKey>& tree() { return tree_; }

  /// Finds the best paths from `root`.
  void search(int32_t root, Looker& looker) {
    tree_.key.fill(K::unreached());
    tree_.before.fill(-1);
    tree_.key[root] = K::start();
    settle(components_.of[root], looker);
  }

  /// The same as if another node had edges to all nodes, with the key of the empty path.
  void search_from_all(Looker& looker) {
    tree_.key.fill(K::start());
    tree_.before.fill(-1);
    settle(components_.count - 1, looker);
  }

 private:
  /// Finds the best paths to the nodes of a component and of all that come after it.
  void settle(int32_t last, Looker& looker) {
    // Edges lead to components with lower numbers.
    for (int32_t component = last; component >= 0; --component) {
      const int32_t begin = components_.start[static_cast<size_t>(component)];
      const int32_t end = components_.start[static_cast<size_t>(component) + 1];
      if (end - begin > 1) search_within(component, begin, end, looker);
      for (int32_t at = begin; at < end; ++at) {
        const int32_t i = components_.members[at];
        looker.count(rows_.degree(i) + 1);
        if (tree_.key[i] != K::unreached()) leave(i, component);
      }
    }
  }

  /// Follows the edges of a node that leave its component.
  void leave(int32_t i, int32_t component) {
    const PathKey own = tree_.key[i];
    if (is_inexact<K>(own)) throw Refusal{Refusal::kInexact};
    for (auto edge = rows_.begin(i), end = rows_.end(i); edge != end; ++edge) {
      const int32_t j = edge->to;
      const int32_t other = components_.of[j];
      if (other == component) {
        if (j == i && edge_gains(K::extension, edge->key)) require_no_cycle(i, i);
        continue;
      }
      if (other < 0) continue;
      const PathKey candidate = K::extend(own, edge->key);
      if (!(candidate < tree_.key[j])) continue;
      tree_.key[j] = candidate;
      tree_.before[j] = i;
    }
  }

  /// Finds the best paths within a component, from those of its nodes that are reached.
  void search_within(int32_t component, int32_t begin, int32_t end, Looker& looker) {
    hanging_.begin();
    queue_.begin(end - begin);
    for (int32_t at = begin; at < end; ++at) {
      const int32_t i = components_.members[at];
      hanging_.leave_out(i);
      if (tree_.key[i] == K::unreached()) continue;
      hanging_.hang(i, hanging_.top());
      queue_.add(i);
    }
    while (!queue_.empty()) {
      const int32_t i = queue_.take();
      // It will be reached again, by a better path.
      if (!hanging_.has(i)) continue;
      const PathKey own = tree_.key[i];
      if (is_inexact<K>(own)) throw Refusal{Refusal::kInexact};
      for (auto edge = rows_.begin(i), last = rows_.end(i); edge != last; ++edge) {
        const int32_t j = edge->to;
        if (components_.of[j] == component) follow(i, j, K::extend(own, edge->key), component, looker);
      }
      looker.count(rows_.degree(i) + 1);
    }
  }

  void follow(int32_t i, int32_t j, PathKey candidate, int32_t component, Looker& looker) {
    if (candidate > tree_.key[j] || candidate >= K::unreached()) return;
    if (hanging_.has(j)) {
      // A node that was taken out comes back even if rounding made nothing better of what is above it.
      if (candidate == tree_.key[j]) return;
      int64_t looked = 0;
      const int32_t after = hanging_.end_of(j, i, looked);
      looker.count(looked);
      if (after < 0) return require_no_cycle(i, j);
      const int32_t parent = tree_.before[j];
      const bool is_inner = parent >= 0 && components_.of[parent] == component;
      hanging_.take_out(j, is_inner ? parent : hanging_.top(), after);
    }
    tree_.key[j] = candidate;
    tree_.before[j] = i;
    hanging_.hang(j, i);
    queue_.add(j);
  }

  /// Throws the cycle that the edge from i to j closes, which is above i in the tree, unless it gains only because sums of
  /// floats are rounded.
  void require_no_cycle(int32_t i, int32_t j) const {
    Refusal refusal{Refusal::kCycle};
    refusal.keys.push_back(best_key(i, j));
    for (int32_t node = i;; node = tree_.before[node]) {
      refusal.cycle.push_back(node);
      if (node == j) break;
      refusal.keys.push_back(best_key(tree_.before[node], node));
    }
    if (!cycle_gains(K::extension, refusal.keys)) return;
    // From j on; the last edge leads from i to j.
    std::reverse(refusal.cycle.begin(), refusal.cycle.end());
    std::reverse(refusal.keys.begin(), refusal.keys.end());
    throw refusal;
  }

  double best_key(int32_t from, int32_t to) const {
    const Edge<EdgeKey>* best = nullptr;
    for (auto edge = rows_.begin(from), end = rows_.end(from); edge != end; ++edge) {
      if (edge->to == to && (!best || K::is_better_edge(edge->key, best->key))) best = edge;
    }
    return static_cast<double>(best->key);
  }

  const Graph& rows_;
  const Components& components_;
  Tree<PathKey> tree_;
  /// The tree within a component: what is reached from outside hangs on the top.
  Preorder hanging_;
  NodeQueue queue_;
};

}  // namespace mpmml::graph
