// How work is watched by other threads while it runs.
#pragma once
#include <atomic>
#include <cstdint>

#include "core/status.h"

namespace mpmml {

/// Adds to a number that other threads add to and read. It may be null: then nothing counts.
inline void add_to(std::atomic<double>* number, double amount) {
  if (!number) return;
  double known = number->load(std::memory_order_relaxed);
  while (!number->compare_exchange_weak(known, known + amount, std::memory_order_relaxed)) {
  }
}

struct CancellationToken {
  const std::atomic<int32_t>* cancelled = nullptr;
  std::atomic<double>* done = nullptr;  ///< the share of all work: 1 in the end

  bool is_cancelled() const { return cancelled && cancelled->load(std::memory_order_relaxed) != 0; }
  /// Throws given_up() if the result isn't wanted any more.
  void look() const {
    if (is_cancelled()) throw given_up();
  }
  void add(double share) const { add_to(done, share); }
};

}  // namespace mpmml
