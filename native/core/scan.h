// Value-range analysis of host memory. Of floating-point elements nothing needs to be known: they have no range.
#pragma once
#include "core/problem.h"
#include "core/range.h"

namespace mpmml {

/// What occurs among `count` contiguous elements.
ValueRange scan_elements(SemiringId semiring, DataType dtype, Storage storage, const void* data, int64_t count);

/// What occurs in a batch of matrices.
ValueRange scan_matrices(SemiringId semiring, DataType dtype, const MatrixView& view, int64_t batch);

}  // namespace mpmml
