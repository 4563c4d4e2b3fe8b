// Work that goes on after it has been started, as on a GPU, for tests on machines without one.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/session/session.h"

namespace mpmml::addon {

/// How long work goes on, in microseconds, on devices that are opened from now on; 0: as long as it takes.
inline std::atomic<int64_t> delay_of_work{0};

/// What delays the work of a device: it is done at once, but that shows only later.
class Delay {
 public:
  explicit Delay(int64_t microseconds) : length_(microseconds) {}

  /// What `start` has started, with the delay.
  std::unique_ptr<Pending> start(const std::function<std::unique_ptr<Pending>()>& start);

  void watch(const std::shared_ptr<Memory>& memory);
  /// Ends the process if the session, which is about to be closed, wouldn't outlive what it has allocated and started.
  void require_all_ended() const;

 private:
  const std::chrono::microseconds length_;
  std::chrono::steady_clock::time_point end_{};
  std::vector<std::weak_ptr<Memory>> memories_;
  const std::shared_ptr<void> running_ = std::make_shared<int>();  ///< shared by what hasn't ended
};

}  // namespace mpmml::addon
