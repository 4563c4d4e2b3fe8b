// Ranges that the elements of a matrix keep in while it is closed.
#pragma once
#include <optional>

#include "core/algebra/dispatch.h"
#include "core/algebra/range.h"
#include "core/problem/problem.h"

namespace mpmml {

/// How pivots are grouped. With more of them at a time a product reads and writes d less often, but more of the work is
/// done by products with fewer steps.
constexpr int64_t kMaxPivotsOfGroup = 256;

/// A range that the elements of d keep in while they are closed, if no cycle gains: from the beginning to the end, or for
/// one group of pivots.
struct PathRange {
  ValueRange range;
  bool of_group = false;
};

/// For elements that begin in `range`, among so many nodes. Nothing if finite sums might leave the type even by way of one
/// group.
std::optional<PathRange> path_range(const Operation& operation, const ValueRange& range, int64_t nodes);

/// Whether the values of a group are scanned before they are multiplied in so many steps, unless the host sees them anyway: fewer
/// levels than the bound of all ways has are cheaper. The scan takes a GPU as long as some 5e8 steps.
inline bool is_worth_scanning(bool is_host, const Operation& operation, double steps) {
  constexpr double kStepsWorthScan = 2e9;
  return !is_host && can_overflow(operation) && steps >= kStepsWorthScan;
}

/// What is known of d from group to group.
class PathRangeTracker {
 public:
  PathRangeTracker(const Operation& operation, const PathRange& known) : operation_(operation), known_(known) {}

  /// A bound of the elements of d.
  const ValueRange& range() const { return known_.range; }

  /// Whether it pays to scan d after so many groups: once all nodes have ways to each other, the bound is tighter. Scans
  /// after 1, 2, 4, 8, … groups, if they are cheap, or after each, if the bound is only of one group.
  bool is_worth_tightening(int64_t groups, bool is_cheap) const {
    if (!known_.range.has_zero) return false;
    return known_.of_group || ((groups & (groups - 1)) == 0 && is_cheap);
  }
  /// Takes the range of d. Returns whether finite sums can't leave the type in the next group.
  bool tighten(const ValueRange& found);

  /// If a cycle gains, elements have no meaning, and may be anything.
  bool is_within(const ValueRange& found) const {
    return found.has_finite() && found.minimum >= known_.range.minimum && found.maximum <= known_.range.maximum;
  }

 private:
  Operation operation_;
  PathRange known_;
};

}  // namespace mpmml
