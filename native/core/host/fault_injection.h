// Fault injection for tests.
#pragma once
#include <atomic>
#include <cstdint>
#include <new>

#include "core/status.h"

namespace mpmml {

/// Selection of the requests that fail.
class Failing {
 public:
  /// Makes the nth request from now on fail, and the following ones up to `count` failures. 0: none fails.
  void set(int64_t nth, int64_t count) {
    count_.store(0, std::memory_order_relaxed);
    before_.store(nth - 1, std::memory_order_relaxed);
    count_.store(nth > 0 ? count : 0, std::memory_order_relaxed);
  }

  /// Returns whether the current request must fail. Must be called once for each request.
  bool must_fail() {
    if (count_.load(std::memory_order_relaxed) <= 0) return false;
    if (before_.fetch_sub(1, std::memory_order_relaxed) > 0) return false;
    return count_.fetch_sub(1, std::memory_order_relaxed) > 0;
  }

 private:
  std::atomic<int64_t> before_{0};  ///< remaining requests that succeed
  std::atomic<int64_t> count_{0};   ///< number of failures after them
};

/// Failing allocations of host or device memory for elements.
inline Failing failing_allocations;
inline Failing failing_threads;
/// Failing requests to a driver to compile or load a kernel.
inline Failing failing_drivers;

/// Throws Error if the next allocation must fail.
inline void before_allocation() {
  if (failing_allocations.must_fail()) {
    throw Error(ErrorCode::kOutOfMemory, "the allocation failed because a test asked for it");
  }
}

/// Throws std::thread's exception if the next thread must fail.
inline void before_thread() {
  if (failing_threads.must_fail()) throw std::bad_alloc();
}

}  // namespace mpmml
