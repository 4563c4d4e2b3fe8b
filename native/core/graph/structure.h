// What graphs are without their weights, and their best spanning trees.
#pragma once
#include <cstdint>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/progress.h"
#include "core/graph/rules.h"
#include "core/graph/source.h"

namespace mpmml::graph {

/// Components: the nodes of component c are `members[start[c]]` up to `members[start[c + 1]]`, by their numbers.
struct Parts {
  Array<int32_t> of;
  Array<int32_t> members;
  std::vector<int32_t> start;
};

/// Strong components are numbered so that edges between them lead from lower numbers to higher ones. Throws Refusal.
Parts strong_components(const Source& source, const CancellationToken& watch);

/// What is connected if edges lead both ways: by the least node of each.
Parts weak_components(const Source& source, const CancellationToken& watch);

/// All nodes, so that edges lead from earlier ones to later ones. Throws a cycle as a Refusal.
Array<int32_t> topological_order(const Source& source, const CancellationToken& watch);

/// The indices of the edges of a spanning tree, or of a forest, whose sum of weights is the least, or the greatest; of edges that
/// weigh the same the first ones. Edges lead both ways.
std::vector<int64_t> spanning_tree(const Source& source, const Rules& rules, const CancellationToken& watch);

}  // namespace mpmml::graph
