// Elimination orders by nested dissection: small separators divide a graph, then each of its parts, recursively. A.
// George, Nested dissection of a regular finite element mesh, SIAM Journal on Numerical Analysis 10 (1973).
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/progress.h"
#include "core/graph/rows.h"

namespace mpmml::graph {

/// Adjacency lists of the undirected graph: each neighbour is listed once.
struct Neighbors {
  int32_t nodes = 0;
  Array<int64_t> start;  ///< 64 bits, because the number of neighbours, twice that of edges, may exceed 2^32
  Array<int32_t> list;

  const int32_t* begin(int32_t node) const { return list.data() + start[node]; }
  const int32_t* end(int32_t node) const { return list.data() + start[node + 1]; }
};

/// Nodes that are eliminated together: a separator, or a part that isn't dissected. Their positions are `first`
/// up to `end`, exclusive.
struct Supernode {
  int32_t first = 0, end = 0;
  int32_t parent = -1;  ///< the innermost separator around its part; -1 if there is none
  /// Positions of its own nodes, then of its border: all later nodes that are adjacent to it or to its descendants.
  std::vector<int32_t> places{};

  int32_t size() const { return end - first; }
  int32_t border() const { return static_cast<int32_t>(places.size()) - size(); }
};

struct Ordering {
  Array<int32_t> place;  ///< position of each node
  Array<int32_t> node;   ///< node at each position
  /// Supernodes in the order of their positions: each comes before its parent.
  std::vector<Supernode> supernodes;
  /// Number of entries from the nodes of supernodes to their borders, and to each other.
  int64_t to_borders = 0, inside = 0;
  double steps = 0;  ///< number of steps of the elimination
};

/// Returns an elimination order, which doesn't depend on the number of threads. Returns nothing if it would have more
/// than `max_entries` entries.
std::optional<Ordering> dissect(const Neighbors& neighbors, int64_t max_entries, const ThreadPool& pool,
                                const CancellationToken& watch);

template <class Key>
Neighbors neighbors_of(const Rows<Key>& rows, const CancellationToken& watch) {
  ProgressReporter reporter(watch, 0, 0);
  Neighbors made;
  const int32_t nodes = made.nodes = rows.nodes;
  made.start = Array<int64_t>(int64_t{nodes} + 1, 0);
  const auto each = [&](auto use) {
    for (int32_t i = 0; i < nodes; ++i) {
      for (auto edge = rows.begin(i); edge != rows.end(i); ++edge) {
        if (edge->to == i) continue;
        use(i, edge->to);
        use(edge->to, i);
      }
      reporter.count(rows.degree(i) + 1);
    }
  };
  each([&](int32_t i, int32_t) { ++made.start[int64_t{i} + 1]; });
  int64_t sum = 0;
  for (int64_t& start : made.start) start = sum += start;
  made.list = Array<int32_t>(sum);
  Array<int64_t> next(nodes);
  std::copy(made.start.begin(), made.start.end() - 1, next.begin());
  each([&](int32_t i, int32_t j) { made.list[next[i]++] = j; });
  // Duplicate neighbours are skipped.
  Array<int32_t> seen(nodes, -1);
  int64_t kept = 0, begin = 0;
  for (int32_t i = 0; i < nodes; ++i) {
    const int64_t end = made.start[int64_t{i} + 1];
    for (int64_t at = begin; at < end; ++at) {
      const int32_t j = made.list[at];
      if (seen[j] == i) continue;
      seen[j] = i;
      made.list[kept++] = j;
    }
    reporter.count(end - begin + 1);
    begin = end;
    made.start[int64_t{i} + 1] = kept;
  }
  made.list.shrink(kept);
  return made;
}

}  // namespace mpmml::graph
