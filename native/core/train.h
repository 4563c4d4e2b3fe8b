// Work on a device that follows each other.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "core/problem.h"
#include "core/session.h"

namespace mpmml {

/// Work that has been started and not finished, oldest first.
class Train {
 public:
  explicit Train(std::atomic<double>* steps_done) : steps_done_(steps_done) {}

  /// What is started next are these products. They must stay until they are finished.
  std::vector<Problem>& products() {
    cars_.emplace_back();
    return cars_.back().products;
  }

  /// `steps` are counted when it is done.
  void add(std::unique_ptr<Pending> pending, double steps) {
    if (cars_.empty() || cars_.back().pending) cars_.emplace_back();
    cars_.back().pending = std::move(pending);
    cars_.back().steps = steps;
    under_way_ += steps;
    while (!cars_.empty() && (cars_.front().pending->is_done() || under_way_ - steps > kStepsUnderWay)) finish_first();
  }

  bool is_done() {
    while (!cars_.empty() && cars_.front().pending->is_done()) finish_first();
    return cars_.empty();
  }

  void finish() {
    while (!cars_.empty()) finish_first();
  }

 private:
  struct Car {
    std::vector<Problem> products;
    std::unique_ptr<Pending> pending;
    double steps = 0;
  };

  /// Steps that may be under way before the last: about 20 ms of a GPU of the year 2023.
  static constexpr double kStepsUnderWay = 3e11;

  void finish_first() {
    const Car car = std::move(cars_.front());
    cars_.pop_front();
    under_way_ -= car.steps;
    car.pending->finish();
    if (!steps_done_) return;
    double known = steps_done_->load(std::memory_order_relaxed);
    while (!steps_done_->compare_exchange_weak(known, known + car.steps, std::memory_order_relaxed)) {
    }
  }

  std::atomic<double>* const steps_done_;
  std::deque<Car> cars_;
  double under_way_ = 0;
};

}  // namespace mpmml
