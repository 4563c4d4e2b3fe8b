#include "core/overflow.h"

#include "core/dispatch.h"
#include "core/exact.h"

namespace mpmml {
namespace {

std::string message_of(const Operation& operation, const OverflowError::Place& place, int64_t sum) {
  return with_semiring<CanOverflow>(operation, [&](auto semiring) {
    using S = decltype(semiring);
    return "C[" + (place.item >= 0 ? std::to_string(place.item) + ", " : "") + std::to_string(place.row) + ", " +
           std::to_string(place.col) + "] is decided by the sum " + std::to_string(sum) +
           ", outside the finite range " + std::to_string(FiniteRange<S>::least) + " to " +
           std::to_string(FiniteRange<S>::most) + ": scale the operands, or choose overflow 'saturate' or 'wrap'";
  });
}

}  // namespace

OverflowError::OverflowError(const Operation& operation, const Place& place, int64_t sum)
    : Error(ErrorCode::kOverflow, message_of(operation, place, sum)), place_(place), sum_(sum) {}

OverflowError overflow_error(const Problem& problem, int64_t index) {
  const int64_t col = index % problem.n(), row = index / problem.n() % problem.m();
  const int64_t item = index / problem.n() / problem.m();
  Problem cell = problem;
  cell.a = view_from(problem.a, problem.operation.dtype, item, row, 0);
  cell.b = view_from(problem.b, problem.operation.dtype, item, 0, col);
  cell.structure = problem.structure.from(row, col);
  return overflow_error(cell, problem.batch > 1 ? item : -1, row, col);
}

OverflowError overflow_error(const Problem& cell, int64_t batch, int64_t row, int64_t col) {
  const int64_t sum = with_semiring<CanOverflow>(
      cell.operation, [&](auto semiring) -> int64_t { return exact_cell<Wide<decltype(semiring)>>(cell, 0, 0, 0); });
  return OverflowError(cell.operation, {batch, row, col}, sum);
}

}  // namespace mpmml
