// Strongly connected components, and reachability from a set of nodes.
#pragma once
#include <cstdint>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/progress.h"
#include "core/graph/rows.h"

namespace mpmml::graph {

/// List of nodes, or all nodes.
struct Nodes {
  const int32_t* list = nullptr;  ///< null: all nodes
  int64_t count = 0;

  int32_t operator[](int64_t at) const { return list ? list[at] : static_cast<int32_t>(at); }
};

/// Returns 1 for each node that is reachable from a root, roots included. With rows of incoming edges, returns 1 for
/// each node from which a root is reachable.
template <class Key>
Array<uint8_t> reached(const Rows<Key>& rows, const Nodes& roots, const CancellationToken& watch) {
  Array<uint8_t> within(rows.nodes, 0);
  Array<int32_t> members(rows.nodes);
  int64_t count = 0;
  const auto add = [&](int32_t node) {
    if (within[node]) return;
    within[node] = 1;
    members[count++] = node;
  };
  for (int64_t at = 0; at < roots.count; ++at) add(roots[at]);
  ProgressReporter reporter(watch, 0, 0);
  for (int64_t at = 0; at < count; ++at) {
    const int32_t i = members[at];
    for (const Edge<Key>* edge = rows.begin(i); edge != rows.end(i); ++edge) add(edge->to);
    reporter.count(rows.degree(i) + 1);
  }
  return within;
}

/// Strongly connected components: nodes that reach each other are in one component.
struct Components {
  int32_t count = 0;
  /// Component of each node; -1 if the node isn't visited. Edges between components lead from higher numbers to lower
  /// ones, so a component has a higher number than all components that it reaches.
  Array<int32_t> of;
  /// Visited nodes by component: nodes of component c are `members[start[c]]` up to `members[start[c + 1]]`, exclusive.
  Array<int32_t> members;
  std::vector<int32_t> start;

  int64_t size() const { return members.size(); }
};

/// Returns the components of the nodes that are reachable from `roots` through the nodes `within` (all nodes if it is
/// null). R. Tarjan, Depth-first search and linear graph algorithms, SIAM Journal on Computing 1 (1972); an explicit
/// stack replaces the recursion, because a path may contain all nodes.
template <class Key>
Components components_of(const Rows<Key>& rows, const Nodes& roots, const uint8_t* within,
                         const CancellationToken& watch) {
  /// Order number of excluded nodes, greater than that of every visited node.
  constexpr int32_t kMasked = std::numeric_limits<int32_t>::max();
  const int32_t nodes = rows.nodes;
  Components found;
  found.of = Array<int32_t>(nodes, -1);
  found.members = Array<int32_t>(nodes);
  found.start.push_back(0);
  Array<int32_t> index(nodes, 0), low(nodes), path(nodes), open(nodes);
  Array<uint32_t> next(nodes);
  if (within) {
    for (int32_t i = 0; i < nodes; ++i) index[i] = within[i] ? 0 : kMasked;
  }
  int32_t visited = 0, closed = 0;
  int64_t depth = 0, opened = 0;
  ProgressReporter reporter(watch, 0, 0);
  const auto enter = [&](int32_t node) {
    path[depth++] = node;
    open[opened++] = node;
    low[node] = index[node] = ++visited;
    next[node] = rows.start[node];
  };
  for (int64_t at = 0; at < roots.count; ++at) {
    const int32_t root = roots[at];
    if (index[root] != 0) continue;
    enter(root);
    while (depth > 0) {
      const int32_t i = path[depth - 1];
      const uint32_t end = rows.start[i + 1];
      uint32_t k = next[i];
      int32_t lowest = low[i], child = -1;
      for (; k < end; ++k) {
        const int32_t j = rows.edges[k].to;
        const int32_t seen = index[j];
        if (seen == 0) {
          child = j;
          break;
        }
        if (seen < lowest && found.of[j] == -1) lowest = seen;
      }
      reporter.count(int64_t{k} - next[i] + 1);
      low[i] = lowest;
      next[i] = k;
      if (child >= 0) {
        enter(child);
        continue;
      }
      --depth;
      if (depth > 0) {
        const int32_t parent = path[depth - 1];
        if (lowest < low[parent]) low[parent] = lowest;
      }
      if (lowest != index[i]) continue;
      int32_t member;
      do {
        member = open[--opened];
        found.of[member] = found.count;
        found.members[closed++] = member;
      } while (member != i);
      ++found.count;
      found.start.push_back(closed);
    }
  }
  found.members.shrink(closed);
  return found;
}

}  // namespace mpmml::graph
