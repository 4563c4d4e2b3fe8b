#include "core/overflow.h"

#include "core/dispatch.h"
#include "core/exact.h"

namespace mpmml {

Error overflow_error(const Problem& problem, int64_t index) {
  const int64_t col = index % problem.n(), row = index / problem.n() % problem.m();
  const int64_t item = index / problem.n() / problem.m();
  Problem cell = problem;
  cell.a = view_from(problem.a, problem.operation.dtype, item, row, 0);
  cell.b = view_from(problem.b, problem.operation.dtype, item, 0, col);
  cell.structure = problem.structure.from(row, col);
  return overflow_error(cell, problem.batch > 1 ? item : -1, row, col);
}

Error overflow_error(const Problem& cell, int64_t batch, int64_t row, int64_t col) {
  return with_semiring<CanOverflow>(cell.operation, [&](auto semiring) {
    using S = decltype(semiring);
    const int64_t value = exact_cell<Wide<S>>(cell, 0, 0, 0);
    return Error(ErrorCode::kOverflow, "C[" + (batch >= 0 ? std::to_string(batch) + ", " : "") + std::to_string(row) +
                                           ", " + std::to_string(col) + "] is decided by the sum " +
                                           std::to_string(value) + ", outside the finite range " +
                                           std::to_string(FiniteRange<S>::least) + " to " +
                                           std::to_string(FiniteRange<S>::most) +
                                           ": scale the operands, or choose overflow 'saturate' or 'wrap'");
  });
}

}  // namespace mpmml
