// The error for a product that overflows under the throwing policy.
#pragma once
#include "core/problem/problem.h"
#include "core/status.h"

namespace mpmml {

/// Says which result is decided by which sum.
class OverflowError : public Error {
 public:
  /// `index` is that of the result among all of `problem`, in row-major order.
  OverflowError(const Problem& problem, int64_t index, int64_t sum);
  int64_t index() const { return index_; }
  int64_t sum() const { return sum_; }

 private:
  int64_t index_, sum_;
};

/// The error for result number `index` of `problem`, which is in host memory.
OverflowError overflow_error(const Problem& problem, int64_t index);

/// The same if only the operands of that result are: `cell` is the product that it is.
OverflowError overflow_error(const Problem& problem, int64_t index, const Problem& cell);

}  // namespace mpmml
