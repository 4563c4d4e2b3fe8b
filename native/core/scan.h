// Value-range analysis of host memory.
#pragma once
#include "core/problem.h"
#include "core/range.h"

namespace mpmml {

/// The values among `count` contiguous elements, if something must be known about them (is_scanned).
ValueRange scan_elements(const Operation& operation, Storage storage, const void* data, int64_t count);

/// The values in a batch of matrices. Elements outside of the band are zero and aren't read.
ValueRange scan_matrices(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band = {});

/// Granules of floats are from 2^−100 to 2^100, so that they and their inverses are normal.
constexpr int kMostGranule = 100;

/// What is known of the lines of matrices after a look at all elements; the operation has ranges.
LineLevels levels_of_rows(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band = {});
LineLevels levels_of_columns(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band = {});

/// If the ranges of A and B show values that aren't elements of the semiring, throws Error(kValue) that names the
/// first.
void require_elements(const Problem& problem, const ValueRange& a, const ValueRange& b);

/// Throws Error(kValue) for the first value of `view` in the band, called `name`, that isn't an element of the semiring.
void require_elements(const Operation& operation, const MatrixView& view, int64_t batch, const char* name,
                      const Band& band = {});

/// The same for C0, which it scans first.
void require_elements_of_c0(const Problem& problem);

}  // namespace mpmml
