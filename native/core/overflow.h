// The error for a product that overflows under the throwing policy.
#pragma once
#include "core/problem.h"
#include "core/status.h"

namespace mpmml {

/// Says which result is decided by which sum.
class OverflowError : public Error {
 public:
  struct Place {
    int64_t item;  ///< −1 if there is no batch
    int64_t row, col;
  };
  OverflowError(const Operation& operation, const Place& place, int64_t sum);
  const Place& place() const { return place_; }
  int64_t sum() const { return sum_; }

 private:
  Place place_;
  int64_t sum_;
};

/// `problem` is in host memory; `index` is that of the result that overflowed, in row-major order.
OverflowError overflow_error(const Problem& problem, int64_t index);

/// The same with only the operands of that result: row `row` of A, column `col` of B, as a product of 1 × K by K × 1.
/// `batch` is −1 if there is no batch.
OverflowError overflow_error(const Problem& cell, int64_t batch, int64_t row, int64_t col);

}  // namespace mpmml
