// C changes only if the product succeeds. So results are either written into C at once, or into separate memory that is
// copied into C at the end. This class decides which.
#pragma once
#include <functional>
#include <optional>

#include "core/host/workspace.h"
#include "core/problem/problem.h"

namespace mpmml {

/// Whether results that a product writes before it is certain to succeed go to memory apart from C first. All that computes
/// products asks this.
inline bool writes_apart(const Problem& problem, bool may_fail) { return may_fail && problem.keeps_c; }

/// Whether a result may turn out to overflow after others have been written: only 64-bit sums can.
inline bool may_overflow(const Problem& problem, RangePath path) {
  return path == RangePath::kWide && problem.operation.overflow == OverflowPolicy::kThrow;
}

/// Whether values that are only seen when other results have been written may fail a product: a sum that overflows, or an
/// element that the semiring hasn't.
bool values_may_fail(const Operation& operation);

/// Copies rows [first, end) of all batch · M rows of dense results to `c`, the product's C or its witness. What is outside
/// of the band stays as it is.
void copy_rows(const MutableMatrixView& c, const Band& band, DataType dtype, const void* dense, int64_t first,
               int64_t end);

class Destination {
 public:
  /// `may_fail`: as writes_apart() has it. Throws Error(kOutOfMemory).
  Destination(const Problem& problem, bool may_fail);

  /// Where to write results.
  const MutableMatrixView& view() const { return view_; }

  /// Copies rows [first, end) of all batch · M rows. May be called for parts of them, in any order and from any
  /// threads.
  using CopyRows = std::function<void(int64_t first, int64_t end)>;
  using ForRows = std::function<void(int64_t rows, const CopyRows& copy)>;

  /// Copies the results into C. `for_rows` must call the function that it gets until all rows are copied.
  void commit(const ForRows& for_rows = [](int64_t rows, const CopyRows& copy) { copy(0, rows); }) const;

 private:
  const Problem& problem_;
  MutableMatrixView view_;
  std::optional<Workspace> apart_;
};

}  // namespace mpmml
