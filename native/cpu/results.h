// Destinations of the results of parts of a product.
#pragma once
#include "core/problem/problem.h"
#include "cpu/kernel.h"

namespace mpmml::cpu {

/// The results from (item, row, col) on, written to `c`.
Results results_from(const Problem& problem, const MutableMatrixView& c, int64_t item, int64_t row, int64_t col);

/// Returns the results with rows and columns exchanged.
Results transposed(Results results);

}  // namespace mpmml::cpu
