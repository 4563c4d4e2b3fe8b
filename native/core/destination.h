// C changes only if the product succeeds: whether results may be written into it at once, or into memory apart that is
// copied in the end, is decided here.
#pragma once
#include <functional>
#include <optional>

#include "core/problem.h"
#include "core/workspace.h"

namespace mpmml {

class Destination {
 public:
  /// `may_overflow`: whether some result may still turn out to overflow when others have been written.
  /// Throws Error(kOutOfMemory).
  Destination(const Problem& problem, bool may_overflow);

  /// Where to write results.
  const MutableMatrixView& view() const { return view_; }

  /// What copies rows [first, end) of all batch · M rows, in parts and in any order, from any threads.
  using CopyRows = std::function<void(int64_t first, int64_t end)>;
  using ForRows = std::function<void(int64_t rows, const CopyRows& copy)>;

  /// Brings the results into C. `for_rows` calls what it gets until all rows are copied.
  void commit(const ForRows& for_rows = [](int64_t rows, const CopyRows& copy) { copy(0, rows); }) const;

 private:
  void copy_rows(int64_t first, int64_t end) const;

  const Problem& problem_;
  MutableMatrixView view_;
  std::optional<Workspace> apart_;
};

}  // namespace mpmml
