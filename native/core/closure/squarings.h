// Distances of graphs whose edges improve no path: by two squarings and relaxations over the few essential edges,
// instead of elimination of every node.
#pragma once
#include <memory>

#include "core/closure/closure.h"

namespace mpmml {

/// Starts a closure by squarings and essential edges: D = W⊗W⊗W⊗W by two products, then D = D ⊕ E⊗D until nothing
/// changes. E, the essential edges, are those with w(i, j) = D(i, j): a worse edge lies on no best path. Returns null
/// if the closure isn't one of integer sums, if an edge improves paths, or if memory is insufficient. Returns null also
/// if elimination is expected to take less time. After a null result `d` holds paths of the same graph, maybe better
/// ones, and `known` is their range. May wait. Throws Error.
std::unique_ptr<Pending> close_by_squarings(Session& session, Closure& closure, const Placement& where);

}  // namespace mpmml
