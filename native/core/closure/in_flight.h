// Pending work of a closure on devices.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "core/problem/problem.h"
#include "core/session/session.h"
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

}  // namespace mpmml
