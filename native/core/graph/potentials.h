// Johnson's algorithm: potentials make all edge weights non-negative once for all searches from many nodes. D. B.
// Johnson, Efficient algorithms for shortest paths in sparse networks, Journal of the ACM 24 (1977).
#pragma once
#include <cstdint>
#include <utility>

#include "core/graph/array.h"
#include "core/graph/components.h"
#include "core/graph/label_correcting.h"
#include "core/graph/progress.h"
#include "core/graph/rows.h"
#include "core/graph/rules.h"

namespace mpmml::graph {

/// Minimum number of searches that justifies the additional search for potentials, measured on networks of 2000 to 100
/// 000 nodes.
constexpr int64_t kFewestForPotentials = 3;

/// Returns whether potentials take less time than LabelCorrecting from each node, and are exact, for sums of integers.
inline bool should_use_potentials(int32_t nodes, double largest, const Components& components, int64_t searches) {
  if (searches < kFewestForPotentials) return false;
  // In an acyclic graph LabelCorrecting relaxes each edge only once.
  if (2 * (components.size() - components.count) < components.size()) return false;
  // A reduced cost is the sum of a key and the potentials of two nodes.
  return 3 * largest * nodes <= static_cast<double>(kMaxExact);
}

/// Graph with reduced costs: none is negative, and best paths remain best.
struct JohnsonGraph {
  Rows<int64_t> rows;
  Array<int64_t> potential;
};

/// Returns the graph with reduced costs. Nodes for which `is_kept` returns false are on no requested path, and their
/// edges are dropped.
template <class Key, class IsKept>
JohnsonGraph reweight_by(Array<int64_t> potential, const Rows<Key>& rows, IsKept is_kept,
                         const CancellationToken& watch) {
  ProgressReporter reporter(watch, 0, 0);
  JohnsonGraph made;
  made.potential = std::move(potential);
  made.rows.nodes = rows.nodes;
  made.rows.start = Array<uint32_t>(int64_t{rows.nodes} + 1);
  made.rows.edges = Array<Edge<int64_t>>(rows.edges.size());
  uint32_t kept = 0;
  for (int32_t i = 0; i < rows.nodes; ++i) {
    made.rows.start[i] = kept;
    reporter.count(rows.degree(i) + 1);
    if (!is_kept(i)) continue;
    for (auto edge = rows.begin(i), end = rows.end(i); edge != end; ++edge) {
      if (!is_kept(edge->to)) continue;
      const int64_t key = edge->key + made.potential[i] - made.potential[edge->to];
      made.rows.edges[kept++] = Edge<int64_t>(edge->to, key);
    }
  }
  made.rows.start[rows.nodes] = kept;
  made.rows.edges.shrink(kept);
  return made;
}

/// Returns the graph with reduced costs of the components, which are all reachable from a root. Other nodes lead to no
/// requested node, and are dropped. Throws an improving cycle as a QueryError.
template <class K>
JohnsonGraph reweight(const Rows<typename K::EdgeKey>& rows, const Components& components,
                      const CancellationToken& watch) {
  LabelCorrecting<K> labels(rows, components);
  ProgressReporter reporter(watch, 0, 0);
  labels.search_from_all(reporter);
  const auto is_kept = [&](int32_t node) { return components.of[node] >= 0; };
  return reweight_by(std::move(labels.tree().key), rows, is_kept, watch);
}

}  // namespace mpmml::graph
