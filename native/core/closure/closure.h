// Closures of square matrices on a device: ways of all lengths, by groups of pivots (Floyd and Warshall).
#pragma once
#include <memory>
#include <optional>

#include "core/closure/path_range.h"
#include "core/session/session.h"

namespace mpmml {

/// d becomes d ⊕ d⊗d ⊕ d⊗d⊗d ⊕ …, or if `reflexive` also ⊕ one on the diagonal. All matrices are in memory of a session,
/// and have contiguous rows.
struct Closure {
  Operation operation;  ///< ⊕ is idempotent
  int64_t batch = 1;
  MutableMatrixView d;
  /// int32, of d's sizes; data is null if it isn't asked for. It needn't be set before. For i ≠ j it becomes the node after i on
  /// a best way from i to j, and −1 if there is none. Who follows it gets to j, even if there are cycles that neither gain
  /// nor lose (except over floats, whose sums are rounded). On the diagonal it is −1 if `reflexive`, and otherwise the
  /// node after i on a best cycle through it.
  MutableMatrixView next;
  bool reflexive = true;
  PathRange known;  ///< path_range()
  /// Whether `next` is set already, because d has been closed by way of some nodes.
  bool continues = false;
  /// Successors::best_edge, if `next` follows from the weights and the distances: see find_best_edge().
  std::optional<double> best_edge;
  const std::atomic<int32_t>* cancelled = nullptr;
  std::atomic<double>* steps_done = nullptr;  ///< n³ for each matrix in the end
};

/// As far as the range of d tells. Nothing if finite sums might leave the type even by way of one group: so close() must not
/// be called. May wait.
std::optional<PathRange> path_range(Session& session, const Closure& closure);

/// A closure by way of all pivots, or of the first ones.
struct StartedClosure {
  std::unique_ptr<Pending> work;
  /// Whether finite sums might leave the type, and so not all pivots were taken. Then d and next are those of the pivots
  /// that were, unless a cycle gains.
  bool goes_too_far;
};

/// Starts what close() starts first. There are elements.
StartedClosure start_closure(Session& session, const Closure& closure, const Placement& where);

/// Sets best_edge if next nodes follow from the weights and the distances: if the weights are integers, and each edge makes a
/// way worse. That takes much less time than to carry them along. May wait, and change the diagonal. To be called before all
/// else if `next` is wanted.
void find_best_edge(Session& session, Closure& closure);

/// Starts to copy d, the weights, to `next`.
std::unique_ptr<Pending> keep_weights(Session& session, const Closure& closure);
/// Starts to find `next` from the weights that it holds, and d, which is closed since.
std::unique_ptr<Pending> find_next(Session& session, const Closure& closure);

/// Starts a closure. The outcome says whether a cycle gains (Outcome::gain); then d and next are unspecified. Throws
/// Error, as finish() of the result does; d and next are unspecified then too.
std::unique_ptr<Pending> close(Session& session, const Closure& closure, const Placement& where);

}  // namespace mpmml
