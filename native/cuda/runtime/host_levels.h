// Scans the lines of matrices in host memory for their levels (LineLevels in core/algebra/value_range.h).
#pragma once
#include "core/algebra/range.h"
#include "core/problem/problem.h"
#include "core/problem/scan.h"

namespace mpmml {

/// Limit of the exponents of quantization steps of floats. They are from 2^−100 to 2^100, so that they and their
/// inverses are normal.
constexpr int kMaxScale = 100;

/// Returns the levels of the rows of A, or of the columns of B. The operation must have ranges.
LineLevels levels_of_rows(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band = {},
                          const ForRuns& for_runs = in_one_run);
LineLevels levels_of_columns(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band = {},
                             const ForRuns& for_runs = in_one_run);

}  // namespace mpmml
