// Closures of integers whose sums might leave their type, computed in float64.
#pragma once
#include "core/closure/closure.h"

namespace mpmml {

/// Closes matrices for which path_range() returns nothing, like close(). Sums are exact, because float64 holds integers
/// up to 2^53. Final elements outside the finite range are treated by the overflow policy. Waits. Throws
/// Error(kOverflow) for the first element outside under the throwing policy; d and next are unspecified then, as after
/// any error.
Outcome close_by_float64(Session& session, const Closure& closure, const Placement& where);

}  // namespace mpmml
