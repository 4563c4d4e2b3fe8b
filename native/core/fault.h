// Allocations that fail because a test asks for it.
#pragma once
#include <atomic>
#include <cstdint>

#include "core/status.h"

namespace mpmml {

struct FailingAllocations {
  std::atomic<int64_t> before{0};  ///< how many succeed until then
  std::atomic<int64_t> count{0};   ///< how many fail then
};
inline FailingAllocations failing_allocations;

/// The nth allocation from now on fails, and as many after it as make `count`. 0: none does.
inline void fail_allocations(int64_t nth, int64_t count) {
  failing_allocations.count.store(0, std::memory_order_relaxed);
  failing_allocations.before.store(nth - 1, std::memory_order_relaxed);
  failing_allocations.count.store(nth > 0 ? count : 0, std::memory_order_relaxed);
}

/// Every allocation of host or device memory for elements asks once whether it has to fail.
inline bool allocation_must_fail() {
  if (failing_allocations.count.load(std::memory_order_relaxed) <= 0) return false;
  if (failing_allocations.before.fetch_sub(1, std::memory_order_relaxed) > 0) return false;
  return failing_allocations.count.fetch_sub(1, std::memory_order_relaxed) > 0;
}

/// Throws Error if it has to.
inline void before_allocation() {
  if (allocation_must_fail()) throw Error(ErrorCode::kOutOfMemory, "the allocation failed because a test asked for it");
}

}  // namespace mpmml
