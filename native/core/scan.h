// Value-range analysis of host memory.
#pragma once
#include "core/problem.h"
#include "core/range.h"

namespace mpmml {

/// What occurs among `count` contiguous elements, where they have a range (has_range).
ValueRange scan_elements(SemiringId semiring, DataType dtype, Storage storage, const void* data, int64_t count);

/// What occurs in a batch of matrices, for a plan: which no values of floating-point elements change.
ValueRange scan_matrices(SemiringId semiring, DataType dtype, const MatrixView& view, int64_t batch);

}  // namespace mpmml
