// Distances of graphs whose edges make no way better, by a few products and then by the few edges that are as good as what those
// found, instead of by eliminating every node.
#pragma once
#include <memory>

#include "core/closure/closure.h"

namespace mpmml {

/// Starts a closure by squarings and essential edges: D = W⊗W⊗W⊗W by two products, then D = D ⊕ E⊗D until nothing changes. E, the
/// essential edges, are those with w(i, j) = D(i, j): a worse one lies on no best way. Null if the closure isn't one of integer sums,
/// if an edge makes ways better, if there is no memory for it, or if elimination is expected to take less time; `d` then holds ways of
/// the same graph, maybe better ones, and `known` says how far they reach. May wait. Throws Error.
std::unique_ptr<Pending> close_by_squarings(Session& session, Closure& closure, const Placement& where);

}  // namespace mpmml
