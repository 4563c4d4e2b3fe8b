// Allocations that fail because a test asks for it.
#pragma once
#include <atomic>
#include <cstdint>

namespace mpmml {

/// How many allocations are left up to the one that fails; 0: none does.
inline std::atomic<int64_t> allocations_until_failure{0};

/// Every allocation of host or device memory for elements asks once whether it has to fail.
inline bool allocation_must_fail() {
  int64_t left = allocations_until_failure.load(std::memory_order_relaxed);
  while (left > 0) {
    if (allocations_until_failure.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) return left == 1;
  }
  return false;
}

}  // namespace mpmml
