// Methods of closures, among which close() chooses.
#pragma once
#include <memory>

#include "core/closure/closure.h"
#include "core/devices/sharded_memory.h"

namespace mpmml {

/// A started closure over all pivots, or over the first ones.
struct StartedClosure {
  std::unique_ptr<Pending> work;
  /// True if not all pivots were processed, because finite sums might leave the type. Then d and next are those of the
  /// processed pivots, unless a cycle improves.
  bool goes_too_far;
};

/// Starts a closure whose `known` and `best_edge` are set. The matrices must not be empty.
StartedClosure start_closure(Session& session, const Closure& closure, const Placement& where);

/// Implements start_closure() for a session that consists of these devices. Each device closes its matrices of a
/// batch, or all devices together close one matrix that is sharded by rows.
StartedClosure start_closure(PeerTransfers& peers, const Closure& closure, const Placement& where);

/// Starts a closure by squarings and essential edges: D = W⊗W⊗W⊗W by two products, then D = D ⊕ E⊗D until nothing
/// changes. E, the essential edges, are those with w(i, j) = D(i, j): a worse edge lies on no best path. Returns null
/// if the closure isn't one of integer sums, if an edge improves paths, or if memory is insufficient. Returns null also
/// if elimination is expected to take less time. After a null result `d` holds paths of the same graph, maybe better
/// ones, and `known` is their range. May wait. Throws Error.
std::unique_ptr<Pending> close_by_squarings(Session& session, Closure& closure, const Placement& where);

/// Closes matrices of which sums might leave the type within one group of pivots, like close(). Sums are exact, because
/// float64 holds integers up to 2^53. Final elements outside the finite range are treated by the overflow policy. Waits.
/// Throws Error(kOverflow) for the first element outside under the throwing policy; d and next are unspecified then, as
/// after any error.
Outcome close_by_float64(Session& session, const Closure& closure, const Placement& where);

/// Starts a copy of d, the weights, to `next`.
std::unique_ptr<Pending> keep_weights(Session& session, const Closure& closure);
/// Starts to derive `next` from the weights that it contains, and from the closed d.
std::unique_ptr<Pending> find_next(Session& session, const Closure& closure);

/// Starts a closure like close(), with `known` and `best_edge` set.
std::unique_ptr<Pending> close_within(Session& session, const Closure& closure, const Placement& where);

}  // namespace mpmml
