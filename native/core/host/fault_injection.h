// What fails because a test asks for it.
#pragma once
#include <atomic>
#include <cstdint>
#include <new>

#include "core/status.h"

namespace mpmml {

/// Which of the things that are asked for fail.
class Failing {
 public:
  /// The nth from now on fails, and as many after it as make `count`. 0: none does.
  void set(int64_t nth, int64_t count) {
    count_.store(0, std::memory_order_relaxed);
    before_.store(nth - 1, std::memory_order_relaxed);
    count_.store(nth > 0 ? count : 0, std::memory_order_relaxed);
  }

  /// To be asked once for each.
  bool must_fail() {
    if (count_.load(std::memory_order_relaxed) <= 0) return false;
    if (before_.fetch_sub(1, std::memory_order_relaxed) > 0) return false;
    return count_.fetch_sub(1, std::memory_order_relaxed) > 0;
  }

 private:
  std::atomic<int64_t> before_{0};  ///< how many succeed until then
  std::atomic<int64_t> count_{0};   ///< how many fail then
};

/// Of host or device memory for elements.
inline Failing failing_allocations;
inline Failing failing_threads;
/// Kernels that a driver is asked to compile or to load.
inline Failing failing_drivers;

/// Throws Error if the allocation has to fail.
inline void before_allocation() {
  if (failing_allocations.must_fail()) {
    throw Error(ErrorCode::kOutOfMemory, "the allocation failed because a test asked for it");
  }
}

/// Throws what std::thread may throw, if the thread has to fail.
inline void before_thread() {
  if (failing_threads.must_fail()) throw std::bad_alloc();
}

}  // namespace mpmml
