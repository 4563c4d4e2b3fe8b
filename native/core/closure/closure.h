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
  PathRange known;  ///< set by close()
  /// True if `next` is set already, because d contains paths through some nodes.
  bool continues = false;
  /// NextNodes::best_edge, if `next` follows from the weights and the distances: set by close().
  std::optional<double> best_edge;
  const std::atomic<int32_t>* cancelled = nullptr;
  std::atomic<double>* steps_done = nullptr;  ///< reaches n³ for each matrix
};

/// Starts a closure. Outcome::gain is set if a cycle improves; then d and next are unspecified. May wait, and so may
/// finish() of the result. Both throw Error; d and next are unspecified then too.
std::unique_ptr<Pending> close(Session& session, const Closure& closure, const Placement& where);

}  // namespace mpmml
