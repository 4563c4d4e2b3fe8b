// Steps that closures on one device and on several have in common.
#pragma once
#include "core/closure/closure.h"
#include "core/closure/in_flight.h"

namespace mpmml {

/// The product d = d ⊕ a ⊗ b, which improves ways. `known`: the range of d, which must stay until the product is finished.
/// `is_host`: whether it is computed on the host.
Problem relaxation(const Closure& closure, const MutableMatrixView& a, const MutableMatrixView& b,
                   const MutableMatrixView& d, const ValueRange& known, bool is_host);

/// Starts to set the diagonals of a reflexive closure: of `items` matrices rows whose element of the diagonal is in the column
/// `first` and those after it.
void set_diagonals(InFlightWork& in_flight, Session& session, const Closure& closure, int64_t items,
                   const MutableMatrixView& d, const MutableMatrixView& next, int64_t first);

/// Throws given_up() if the closure is cancelled.
inline void require_wanted(const Closure& closure) {
  if (is_set(closure.cancelled)) throw given_up();
}

}  // namespace mpmml
