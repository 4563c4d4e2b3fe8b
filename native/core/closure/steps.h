// Work, temporary matrices and operations that closures by all methods share.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "core/closure/closure.h"
#include "core/problem/problem.h"
#include "core/watch.h"

namespace mpmml {

/// Work that has been started and not finished, oldest first.
class InFlightWork {
 public:
  explicit InFlightWork(std::atomic<double>* steps_done) : steps_done_(steps_done) {}

  /// Returns an empty list for the products that are started next. It stays valid until they are finished.
  std::vector<Problem>& products() {
    works_.emplace_back();
    return works_.back().products;
  }

  /// Adds work. Its `steps` are counted when it is done.
  void add(std::unique_ptr<Pending> pending, double steps) {
    if (works_.empty() || works_.back().pending) works_.emplace_back();
    works_.back().pending = std::move(pending);
    works_.back().steps = steps;
    under_way_ += steps;
    while (!works_.empty() && (works_.front().pending->is_done() || under_way_ - steps > kStepsUnderWay))
      finish_first();
  }

  bool is_done() {
    while (!works_.empty() && works_.front().pending->is_done()) finish_first();
    return works_.empty();
  }

  void finish() {
    while (!works_.empty()) finish_first();
  }

 private:
  struct Work {
    std::vector<Problem> products;
    std::unique_ptr<Pending> pending;
    double steps = 0;
  };

  /// Limit of the steps in flight before the last work: about 20 ms on a GPU of 2023.
  static constexpr double kStepsUnderWay = 3e11;

  void finish_first() {
    const Work first = std::move(works_.front());
    works_.pop_front();
    under_way_ -= first.steps;
    first.pending->finish();
    add_to(steps_done_, first.steps);
  }

  std::atomic<double>* const steps_done_;
  std::deque<Work> works_;
  double under_way_ = 0;
};

/// A batch of row-major matrices and its memory.
struct OwnedMatrix {
  std::shared_ptr<Memory> memory;
  MutableMatrixView view;
};

/// Allocates `items` matrices with undefined elements. Throws Error(kOutOfMemory).
inline OwnedMatrix allocate_matrix(Session& session, DataType dtype, int64_t items, int64_t rows, int64_t cols) {
  OwnedMatrix matrix{session.allocate(items * rows * cols * element_bytes(dtype)), {}};
  matrix.view = placed_in(*matrix.memory, row_major<void*>(nullptr, rows, cols));
  return matrix;
}

/// Returns the product d = d ⊕ a ⊗ b, which relaxes paths. `known` is the range of d, and must stay valid until the
/// product is finished. `is_host`: true if the host computes the product.
Problem relaxation(const Closure& closure, const MutableMatrixView& a, const MutableMatrixView& b,
                   const MutableMatrixView& d, const ValueRange& known, bool is_host);

/// Starts to set the diagonals of a reflexive closure, in rows of `items` matrices. The diagonal element of the first
/// row is in column `first`.
void set_diagonals(InFlightWork& in_flight, Session& session, const Closure& closure, int64_t items,
                   const MutableMatrixView& d, const MutableMatrixView& next, int64_t first);

/// Throws aborted() if the closure is cancelled.
inline void require_wanted(const Closure& closure) {
  if (is_set(closure.cancelled)) throw aborted();
}

}  // namespace mpmml
