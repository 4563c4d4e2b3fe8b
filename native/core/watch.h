// Cancellation and progress of running work, for other threads.
#pragma once
#include <atomic>
#include <cstdint>

#include "core/status.h"

namespace mpmml {

/// Adds to a shared number, which other threads add to and read. It may be null: then nothing is counted.
inline void add_to(std::atomic<double>* number, double amount) {
  if (!number) return;
  double known = number->load(std::memory_order_relaxed);
  while (!number->compare_exchange_weak(known, known + amount, std::memory_order_relaxed)) {
  }
}

struct CancellationToken {
  const std::atomic<int32_t>* cancelled = nullptr;
  std::atomic<double>* done = nullptr;  ///< completed fraction of the work, from 0 to 1

  bool is_cancelled() const { return cancelled && cancelled->load(std::memory_order_relaxed) != 0; }
  /// Throws aborted() if the work is cancelled.
  void look() const {
    if (is_cancelled()) throw aborted();
  }
  void add(double share) const { add_to(done, share); }
};

}  // namespace mpmml
