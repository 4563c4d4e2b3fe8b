// How work on a graph is watched while it runs, and on how many threads it runs.
#pragma once
#include <cstdint>
#include <functional>

#include "core/watch.h"

namespace mpmml::graph {

/// Nodes and edges that are looked at between two looks at whether the result is still wanted.
constexpr int64_t kBetweenLooks = 1 << 14;

/// Steps of vector code between two looks; 2^20 take at most 1 ms.
constexpr int64_t kStepsBetweenLooks = 1 << 20;

using mpmml::CancellationToken;

/// Looks and tells every now and then.
class ProgressReporter {
 public:
  /// `share` is that of each node or edge that is looked at; `most` that of all of them.
  ProgressReporter(const CancellationToken& watch, double share, double most)
      : watch_(watch), share_(share), left_(most) {}

  void look() const { watch_.look(); }
  void count(int64_t looked) {
    looked_ += looked;
    if (looked_ >= kBetweenLooks) tell();
  }
  /// Tells all that is left.
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

/// Threads for parts of the work.
struct ThreadPool {
  int threads = 1;
  /// Calls a function for 0, 1, … below a number, on several threads at once. Throws what one of the calls threw.
  std::function<void(int64_t, const std::function<void(int64_t)>&)> for_each;
};

}  // namespace mpmml::graph
