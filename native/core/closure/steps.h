// Operations that closures on one device and on multiple devices share.
#pragma once
#include "core/closure/closure.h"
#include "core/closure/in_flight.h"

namespace mpmml {

/// Returns the product d = d ⊕ a ⊗ b, which relaxes paths. `known` is the range of d, and must stay valid until the
/// product is finished. `is_host`: true if the host computes the product.
Problem relaxation(const Closure& closure, const MutableMatrixView& a, const MutableMatrixView& b,
                   const MutableMatrixView& d, const ValueRange& known, bool is_host);

/// Starts to set the diagonals of a reflexive closure, in rows of `items` matrices. The diagonal element of the first
/// row is in column `first`.
void set_diagonals(InFlightWork& in_flight, Session& session, const Closure& closure, int64_t items,
                   const MutableMatrixView& d, const MutableMatrixView& next, int64_t first);

/// Throws aborted() if the closure is cancelled.
inline void require_wanted(const Closure& closure) {
  if (is_set(closure.cancelled)) throw aborted();
}

}  // namespace mpmml
