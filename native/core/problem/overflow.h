// Error of a product that overflows under the throwing policy.
#pragma once
#include "core/problem/problem.h"
#include "core/status.h"

namespace mpmml {

/// Error that names the first overflowing result and the sum that decides it.
class OverflowError : public Error {
 public:
  /// `index` is the row-major index of the result in `problem`.
  OverflowError(const Problem& problem, int64_t index, int64_t sum);
  int64_t index() const { return index_; }
  int64_t sum() const { return sum_; }

 private:
  int64_t index_, sum_;
};

/// Returns the error for result number `index` of `problem`, which is in host memory.
OverflowError overflow_error(const Problem& problem, int64_t index);

/// Returns the error for result number `index` of `problem`. Only the operands of that result need to be in host
/// memory: `cell` is the product of that result.
OverflowError overflow_error(const Problem& problem, int64_t index, const Problem& cell);

}  // namespace mpmml
