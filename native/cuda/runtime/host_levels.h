// What is known of the lines of matrices in host memory after a scan of all elements.
#pragma once
#include "core/algebra/range.h"
#include "core/problem/problem.h"
#include "core/problem/scan.h"

namespace mpmml {

/// QuantizationScan of floats are from 2^−100 to 2^100, so that they and their inverses are normal.
constexpr int kMaxGranule = 100;

/// The operation has ranges.
LineLevels levels_of_rows(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band = {},
                          const ForRuns& for_runs = in_one_run);
LineLevels levels_of_columns(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band = {},
                             const ForRuns& for_runs = in_one_run);

}  // namespace mpmml
