// Cancellation, progress and threads of graph algorithms.
#pragma once
#include <cstdint>
#include <functional>

#include "core/watch.h"

namespace mpmml::graph {

/// Number of visited nodes and edges between two polls for cancellation.
constexpr int64_t kBetweenLooks = 1 << 14;

/// Number of steps of vector code between two polls; 2^20 take at most 1 ms.
constexpr int64_t kStepsBetweenLooks = 1 << 20;

using mpmml::CancellationToken;

/// Polls for cancellation and reports progress periodically.
class ProgressReporter {
 public:
  /// `share` is the progress per visited node or edge; `most` is the total progress.
  ProgressReporter(const CancellationToken& watch, double share, double most)
      : watch_(watch), share_(share), left_(most) {}

  void look() const { watch_.look(); }
  void count(int64_t looked) {
    looked_ += looked;
    if (looked_ >= kBetweenLooks) tell();
  }
  /// Reports the remaining progress.
  void end() {
    watch_.look();
    watch_.add(left_);
    left_ = 0;
  }

 private:
  void tell() {
    watch_.look();
    const double share = share_ * static_cast<double>(looked_);
    looked_ = 0;
    const double told = share < left_ ? share : left_;
    left_ -= told;
    watch_.add(told);
  }

  const CancellationToken& watch_;
  const double share_;
  double left_;
  int64_t looked_ = 0;
};

/// Threads for parallel work.
struct ThreadPool {
  int threads = 1;
  /// Calls a function for 0, 1, … below a number, on multiple threads. Throws the exception of one of the calls that
  /// threw.
  std::function<void(int64_t, const std::function<void(int64_t)>&)> for_each;
};

}  // namespace mpmml::graph
