// Destinations of results. C changes only if the product succeeds, so results are written either directly into C, or
// into separate memory until nothing can fail any more. ResultTarget decides which, for every backend and for products
// in parts or in groups.
#pragma once
#include <functional>
#include <optional>
#include <utility>

#include "core/host/workspace.h"
#include "core/problem/problem.h"

namespace mpmml {

/// Returns whether an overflow may be found after other results have been written: only by 64-bit sums.
inline bool may_overflow(const Problem& problem, ArithmeticKind path) {
  return path == ArithmeticKind::kWide && problem.operation.overflow == OverflowPolicy::kThrow;
}

/// Copies rows [first, end) of all batch · M rows of dense results to `c`, the product's C or its witness. Elements
/// outside of the band keep their values.
void copy_rows(const MutableMatrixView& c, const Band& band, DataType dtype, const void* dense, int64_t first,
               int64_t end);

/// Target of the results of a product: C, or separate memory that the caller provides.
class ResultTarget {
 public:
  /// `may_fail`: whether the product may fail after its first result is written, because of a value or for lack of
  /// memory. `is_reachable`: whether the computing device can write into C.
  ResultTarget(const Problem& problem, bool may_fail, bool is_reachable = true)
      : ResultTarget(problem, problem.c, problem.operation.dtype, may_fail, is_reachable) {}
  /// Target of one result of a product: `c` is a lane of a product over a custom semiring.
  template <class Product>
  ResultTarget(const Product& product, const MutableMatrixView& c, DataType dtype, bool may_fail, bool is_reachable)
      : ResultTarget(c, product.batch, dtype, (may_fail && product.keeps_c) || !is_reachable) {}
  ResultTarget(const MutableMatrixView& c, int64_t batch, DataType dtype, bool is_separate)
      : c_(c), view_(c), bytes_(batch * c.rows * c.cols * element_bytes(dtype)), is_separate_(is_separate) {}

  bool is_separate() const { return is_separate_; }
  /// Returns the size of the separate memory in bytes. Results in it are row-major.
  int64_t bytes() const { return bytes_; }
  /// Sets the separate memory: `data` in `memory` of a session, or in other memory if that is null.
  void place(void* data, Memory* memory = nullptr) {
    view_ = row_major(data, c_.rows, c_.cols);
    view_.memory = memory;
  }

  const MutableMatrixView& view() const { return view_; }
  /// Returns `problem`, the product of this target, with its results at view().
  Problem there(Problem problem) const {
    problem.c = view_;
    problem.keeps_c = problem.keeps_c && !is_separate_;
    return problem;
  }

  /// Calls `copy(from, to)` from separate memory to C if the target has separate memory. No later operation may fail.
  template <class Copy>
  void commit(Copy&& copy) const {
    if (is_separate_) copy(read_only(view_), c_);
  }

 private:
  const MutableMatrixView c_;
  MutableMatrixView view_;
  const int64_t bytes_;
  const bool is_separate_;
};

/// A target with separate memory on the host.
class Destination : public ResultTarget {
 public:
  /// Throws Error(kOutOfMemory).
  Destination(const Problem& problem, bool may_fail)
      : Destination(ResultTarget(problem, may_fail), problem.batch, problem.operation.dtype, problem.structure.c) {}
  /// Writes the results in a band of `c` to separate memory.
  Destination(const MutableMatrixView& c, int64_t batch, DataType dtype, const Band& band)
      : Destination(ResultTarget(c, batch, dtype, true), batch, dtype, band) {}

  /// Copies rows [first, end) of all batch · M rows. May be called for disjoint ranges, in any order and from any
  /// thread.
  using CopyRows = std::function<void(int64_t first, int64_t end)>;
  using ForRows = std::function<void(int64_t rows, const CopyRows& copy)>;

  /// Copies the results into C. `for_rows` must call its argument until all rows are copied.
  void commit(const ForRows& for_rows = [](int64_t rows, const CopyRows& copy) { copy(0, rows); }) const;

 private:
  Destination(const ResultTarget& target, int64_t batch, DataType dtype, const Band& band);

  const int64_t batch_;
  const DataType dtype_;
  const Band band_;
  std::optional<Workspace> memory_;
};

}  // namespace mpmml
