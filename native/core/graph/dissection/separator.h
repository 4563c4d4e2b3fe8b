// Small separators of graphs.
#pragma once
#include <cstdint>
#include <vector>

#include "core/graph/dissection/elimination_order.h"

namespace mpmml::graph {

/// Finds a separator of a connected graph, as 1 for each of its nodes. Returns the best of the minimum vertex cuts
/// between both ends of a few orders of the nodes; empty if all of them have more than `most` nodes. The orders are by
/// distances from nodes that are far apart. A. Schild, C. Sommer, On balanced separators in road networks, SEA 2015; E.
/// Dinitz, Algorithm for solution of a problem of maximum flow in networks with power estimation, Soviet Mathematics
/// Doklady 11 (1970).
std::vector<uint8_t> find_separator(const Neighbors& graph, int32_t most, const CancellationToken& watch);

}  // namespace mpmml::graph
