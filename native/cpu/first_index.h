// The first result that overflowed, of those that several threads find.
#pragma once
#include <atomic>

#include "cpu/kernel.h"

namespace mpmml::cpu {

/// Keeps the smallest index that any thread reports.
class FirstIndex {
 public:
  void report(int64_t index) {
    int64_t known = first_.load(std::memory_order_relaxed);
    while (index < known && !first_.compare_exchange_weak(known, index, std::memory_order_relaxed)) {
    }
  }
  int64_t value() const { return first_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> first_{kNoOverflow};
};

}  // namespace mpmml::cpu
