// Closures of square matrices on a device: best paths of any length, by a blocked Floyd-Warshall algorithm over groups
// of pivots.
#pragma once
#include <memory>
#include <optional>

#include "core/closure/path_range.h"
#include "core/session/session.h"

namespace mpmml {

/// d becomes d ⊕ d⊗d ⊕ d⊗d⊗d ⊕ …, or if `reflexive` also ⊕ one on the diagonal. All matrices are in memory of a session,
/// and have contiguous rows.
struct Closure {
  Operation operation;  ///< requires an idempotent ⊕
  int64_t batch = 1;
  MutableMatrixView d;
  /// Next nodes: int32, of d's sizes; data is null if they aren't requested. Initial values are ignored. For i ≠ j an
  /// element becomes the node after i on a best path from i to j, and −1 if no path exists. Following next nodes
  /// reaches j even if some cycles leave path values unchanged, except over floats, whose sums are rounded. On the
  /// diagonal an element is −1 if `reflexive`, and otherwise the node after i on a best cycle through i.
  MutableMatrixView next;
  bool reflexive = true;
  PathRange known;  ///< path_range()
  /// True if `next` is set already, because d contains paths through some nodes.
  bool continues = false;
  /// NextNodes::best_edge, if `next` follows from the weights and the distances: see find_best_edge().
  std::optional<double> best_edge;
  const std::atomic<int32_t>* cancelled = nullptr;
  std::atomic<double>* steps_done = nullptr;  ///< reaches n³ for each matrix
};

/// Returns the range of paths, derived from the range of d. Returns nothing if finite sums might leave the type within
/// one group of pivots: then close() must not be called. May wait.
std::optional<PathRange> path_range(Session& session, const Closure& closure);

/// A started closure over all pivots, or over the first ones.
struct StartedClosure {
  std::unique_ptr<Pending> work;
  /// True if not all pivots were processed, because finite sums might leave the type. Then d and next are those of the
  /// processed pivots, unless a cycle improves.
  bool goes_too_far;
};

/// Starts the first stage of close(). The matrices must not be empty.
StartedClosure start_closure(Session& session, const Closure& closure, const Placement& where);

/// Sets best_edge if next nodes follow from the weights and the distances: if the weights are integers, and each edge
/// makes a path worse. Deriving next nodes takes much less time than updating them during elimination. May wait, and
/// change the diagonal. Must be called before any other function if `next` is requested.
void find_best_edge(Session& session, Closure& closure);

/// Starts a copy of d, the weights, to `next`.
std::unique_ptr<Pending> keep_weights(Session& session, const Closure& closure);
/// Starts to derive `next` from the weights that it contains, and from the closed d.
std::unique_ptr<Pending> find_next(Session& session, const Closure& closure);

/// Starts a closure. Outcome::gain is set if a cycle improves; then d and next are unspecified. Throws Error, and so
/// does finish() of the result; d and next are unspecified then too.
std::unique_ptr<Pending> close(Session& session, const Closure& closure, const Placement& where);

}  // namespace mpmml
