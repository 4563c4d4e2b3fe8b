// Value-range analysis of host memory.
#pragma once
#include "core/problem.h"
#include "core/range.h"

namespace mpmml {

/// What occurs among `count` contiguous elements, if anything has to be known of them (is_scanned).
ValueRange scan_elements(const Operation& operation, Storage storage, const void* data, int64_t count);

/// What occurs in a batch of matrices.
ValueRange scan_matrices(const Operation& operation, const MatrixView& view, int64_t batch);

/// Throws Error(kValue), which names the first, if the ranges of A and B tell of values that are no elements of the semiring.
void require_elements(const Problem& problem, const ValueRange& a, const ValueRange& b);

/// The same for C0, at which it looks first.
void require_elements_of_c0(const Problem& problem);

}  // namespace mpmml
