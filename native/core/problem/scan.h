// Value-range analysis of host memory.
#pragma once
#include <functional>

#include "core/algebra/range.h"
#include "core/problem/problem.h"

namespace mpmml {

/// Calls its last argument for runs of [0, count), maybe for several at the same time. One index is about `elements`
/// elements of matrices. Throws what that throws, and given_up() if the scan is given up.
using ForRuns =
    std::function<void(int64_t count, int64_t elements, const std::function<void(int64_t first, int64_t end)>& body)>;
/// On this thread.
inline void in_one_run(int64_t count, int64_t, const std::function<void(int64_t, int64_t)>& body) {
  if (count > 0) body(0, count);
}

/// The values among `count` contiguous elements, if something must be known about them (is_scanned).
ValueRange scan_elements(const Operation& operation, Storage storage, const void* data, int64_t count);

/// The values in a batch of matrices. Elements outside of the band are zero and aren't read.
ValueRange scan_matrices(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band = {},
                         const ForRuns& for_runs = in_one_run);

/// If the ranges of A and B show values that aren't elements of the semiring, throws Error(kValue) that names the
/// first.
void require_elements(const Problem& problem, const ValueRange& a, const ValueRange& b);

/// Throws Error(kValue) for the first value of `view` in the band, called `name`, that isn't an element of the semiring.
void require_elements(const Operation& operation, const MatrixView& view, int64_t batch, const char* name,
                      const Band& band = {});

/// The same for C0, and for A and B, which it scans first.
void require_elements_of_c0(const Problem& problem);
void require_elements_of_operands(const Problem& problem);

}  // namespace mpmml
