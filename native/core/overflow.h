// The error for a product that overflows under the throwing policy.
#pragma once
#include "core/problem.h"
#include "core/status.h"

namespace mpmml {

/// `problem` is in host memory; `index` is that of the result that overflowed, in row-major order.
Error overflow_error(const Problem& problem, int64_t index);

/// The same with only the operands of that result: row `row` of A, column `col` of B, as a product of 1 × K by K × 1.
/// `batch` is −1 if there is no batch.
Error overflow_error(const Problem& cell, int64_t batch, int64_t row, int64_t col);

}  // namespace mpmml
