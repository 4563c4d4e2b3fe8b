// Closures of integers whose sums might leave their type: by way of float64.
#pragma once
#include "core/closure/closure.h"

namespace mpmml {

/// The same as close(), if path_range() gives nothing. Sums are exact, because float64 holds integers up to 2^53. What
/// is outside the finite range in the end is treated by the overflow policy. Waits. Throws Error(kOverflow) for the first
/// element outside under the throwing policy; d and next are unspecified then, as after any error.
Outcome close_by_float64(Session& session, const Closure& closure, const Placement& where);

}  // namespace mpmml
