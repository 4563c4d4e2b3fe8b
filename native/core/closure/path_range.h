// Ranges of the elements of a matrix during its closure.
#pragma once
#include <optional>

#include "core/algebra/dispatch.h"
#include "core/algebra/range.h"
#include "core/problem/problem.h"

namespace mpmml {

/// Number of pivots in a group. Larger groups read and write d less often, but more of the work is in products with
/// fewer steps.
constexpr int64_t kMaxPivotsOfGroup = 256;

/// Range of the elements of d during a closure, unless a cycle improves. It holds until the end, or for one group of
/// pivots.
struct PathRange {
  ValueRange range;
  bool of_group = false;
};

/// Returns the range of paths among `nodes` nodes for elements that begin in `range`. Returns nothing if finite sums
/// might leave the type within one group.
std::optional<PathRange> path_range(const Operation& operation, const ValueRange& range, int64_t nodes);

/// Returns whether the recorded values of a group should be scanned before a product of `steps` steps. A range with
/// fewer quantization levels than the bound of all paths allows a cheaper arithmetic. The scan takes a GPU as long as
/// about 5e8 steps; the host scans values anyway while it packs them.
inline bool is_worth_scanning(bool is_host, const Operation& operation, double steps) {
  constexpr double kStepsWorthScan = 2e9;
  return !is_host && can_overflow(operation) && steps >= kStepsWorthScan;
}

/// Known range of d, updated from group to group.
class PathRangeTracker {
 public:
  PathRangeTracker(const Operation& operation, const PathRange& known) : operation_(operation), known_(known) {}

  /// Returns a bound of the elements of d.
  const ValueRange& range() const { return known_.range; }

  /// Returns whether a scan of d after `groups` groups pays: the bound is tighter once paths connect all nodes. Scans
  /// happen after 1, 2, 4, 8, … groups if they are cheap, or after each group if the bound is only for one group.
  bool is_worth_tightening(int64_t groups, bool is_cheap) const {
    if (!known_.range.has_zero) return false;
    return known_.of_group || ((groups & (groups - 1)) == 0 && is_cheap);
  }
  /// Updates the bound by the scanned range of d. Returns whether finite sums stay in the type in the next group.
  bool tighten(const ValueRange& found);

  /// Returns whether `found` is within the bound. After an improving cycle elements are unspecified, and may be
  /// outside.
  bool is_within(const ValueRange& found) const {
    return found.has_finite() && found.minimum >= known_.range.minimum && found.maximum <= known_.range.maximum;
  }

 private:
  Operation operation_;
  PathRange known_;
};

}  // namespace mpmml
