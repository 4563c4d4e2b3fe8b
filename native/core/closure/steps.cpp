#include "core/closure/steps.h"

#include "core/algebra/dispatch.h"
#include "core/problem/region.h"

namespace mpmml {

Problem relaxation(const Closure& closure, const MutableMatrixView& a, const MutableMatrixView& b,
                   const MutableMatrixView& d, const ValueRange& known, bool is_host) {
  Problem problem;
  problem.operation = closure.operation;
  // Sums leave the type only after an improving cycle, which makes all elements unspecified.
  problem.operation.overflow = OverflowPolicy::kSaturate;
  problem.a = read_only(a);
  problem.b = read_only(b);
  problem.c = d;
  problem.c0 = read_only(d);
  // The host scans integers while it packs the operands, at no cost, and the scanned range may be narrower.
  if (!is_host || !can_overflow(closure.operation)) problem.known = &known;
  problem.keeps_c = false;
  problem.cancelled = closure.cancelled;
  return problem;
}

void set_diagonals(InFlightWork& in_flight, Session& session, const Closure& closure, int64_t items,
                   const MutableMatrixView& d, const MutableMatrixView& next, int64_t first) {
  const auto set = [&](const MutableMatrixView& view, DataType dtype, double value) {
    MutableMatrixView diagonal = sub(view, dtype, {0, view.rows}, {first, first + 1});
    ++diagonal.row_stride;
    in_flight.add(session.fill(dtype, items, diagonal, value), 0);
  };
  set(d, closure.operation.dtype,
      with_semiring(closure.operation, [](auto semiring) { return double(decltype(semiring)::one); }));
  if (next.data) set(next, DataType::kInt32, -1);
}

}  // namespace mpmml
