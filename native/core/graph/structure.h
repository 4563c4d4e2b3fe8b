// Components, topological orders and best spanning trees of graphs.
#pragma once
#include <cstdint>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/progress.h"
#include "core/graph/rules.h"
#include "core/graph/source.h"

namespace mpmml::graph {

/// Components: nodes of component c are `members[start[c]]` up to `members[start[c + 1]]`, exclusive, in ascending
/// order.
struct ComponentMembers {
  Array<int32_t> of;
  Array<int32_t> members;
  std::vector<int32_t> start;
};

/// Returns the strongly connected components, numbered so that edges between them lead from lower numbers to higher
/// ones. Throws QueryError.
ComponentMembers strong_components(const Source& source, const CancellationToken& watch);

/// Returns the weakly connected components, numbered in the order of their least nodes.
ComponentMembers weak_components(const Source& source, const CancellationToken& watch);

/// Returns all nodes in topological order. Throws a cycle as a QueryError.
Array<int32_t> topological_order(const Source& source, const CancellationToken& watch);

/// Returns the indices of the edges of a minimum or maximum spanning forest of the undirected graph. Of edges with
/// equal weights the first ones are preferred.
std::vector<int64_t> spanning_tree(const Source& source, const Rules& rules, const CancellationToken& watch);

}  // namespace mpmml::graph
