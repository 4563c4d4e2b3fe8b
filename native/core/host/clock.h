// Monotonic clock for the duration of work.
#pragma once
#include <chrono>

namespace mpmml {

using Clock = std::chrono::steady_clock;

inline double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace mpmml
