// Value-range analysis of host memory.
#pragma once
#include <functional>

#include "core/algebra/range.h"
#include "core/problem/problem.h"

namespace mpmml {

/// Function that calls its last argument for disjoint ranges of [0, count), possibly concurrently. One index stands for
/// about `elements` elements of matrices. Throws exceptions of that argument, and aborted() if the scan is cancelled.
using ForRuns =
    std::function<void(int64_t count, int64_t elements, const std::function<void(int64_t first, int64_t end)>& body)>;
/// Calls `body` for the whole range on the calling thread.
inline void in_one_run(int64_t count, int64_t, const std::function<void(int64_t, int64_t)>& body) {
  if (count > 0) body(0, count);
}

/// Returns the range of `count` contiguous elements if the operation requires scans (is_scanned).
ValueRange scan_elements(const Operation& operation, Storage storage, const void* data, int64_t count);

/// Returns the range of a batch of matrices. Elements outside of the band are zero and aren't read.
ValueRange scan_matrices(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band = {},
                         const ForRuns& for_runs = in_one_run);

/// Throws Error(kValue) for the first invalid element of A or B if their ranges contain values that aren't elements of
/// the semiring.
void require_elements(const Problem& problem, const ValueRange& a, const ValueRange& b);

/// Throws Error(kValue) for the first value of `view` in the band, called `name`, that isn't an element of the semiring.
void require_elements(const Operation& operation, const MatrixView& view, int64_t batch, const char* name,
                      const Band& band = {});

/// Throws Error(kValue) for the first invalid element of C0. require_elements_of_operands() scans A and B and throws
/// for the first of their invalid elements.
void require_elements_of_c0(const Problem& problem);
void require_elements_of_operands(const Problem& problem);

}  // namespace mpmml
