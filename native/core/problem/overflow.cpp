#include "core/problem/overflow.h"

#include "core/algebra/dispatch.h"
#include "core/problem/definition.h"
#include "core/problem/region.h"

namespace mpmml {
namespace {

std::string message_of(const Problem& problem, int64_t index, int64_t sum) {
  return with_semiring<CanOverflow>(problem.operation, [&](auto semiring) {
    using S = decltype(semiring);
    const auto& [items, rows, cols] = result_at(problem, index);
    return "C[" + (problem.batch > 1 ? std::to_string(items.first) + ", " : "") + std::to_string(rows.first) + ", " +
           std::to_string(cols.first) + "] is decided by the sum " + std::to_string(sum) +
           ", outside the finite range " + std::to_string(FiniteRange<S>::least) + " to " +
           std::to_string(FiniteRange<S>::most) + ": scale the operands, or choose overflow 'saturate' or 'wrap'";
  });
}

}  // namespace

OverflowError::OverflowError(const Problem& problem, int64_t index, int64_t sum)
    : Error(ErrorCode::kOverflow, message_of(problem, index, sum)), index_(index), sum_(sum) {}

OverflowError overflow_error(const Problem& problem, int64_t index) {
  return overflow_error(problem, index, sub(problem, result_at(problem, index)));
}

OverflowError overflow_error(const Problem& problem, int64_t index, const Problem& cell) {
  const int64_t sum = with_semiring<CanOverflow>(
      cell.operation, [&](auto semiring) -> int64_t { return exact_cell<Wide<decltype(semiring)>>(cell, 0, 0, 0); });
  return OverflowError(problem, index, sum);
}

}  // namespace mpmml
