// Threads that call several devices at the same time.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

#include "core/host/joining_threads.h"

namespace mpmml {

/// A thread for each device but the first, whose work the caller does; or that of all, if there can be no threads.
class DeviceThreads {
 public:
  /// Throws Error(kOutOfMemory) if the system refuses a thread.
  explicit DeviceThreads(size_t devices);
  ~DeviceThreads();

  /// Calls `body(device)` for all devices at the same time. Throws what that of the first device threw which did.
  void run(const std::function<void(size_t)>& body);

 private:
  void serve(size_t index);
  /// Has the threads end.
  void end();

  const size_t devices_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(size_t)>* body_ = nullptr;
  uint64_t round_ = 0;
  size_t left_ = 0;
  bool ends_ = false;
  JoiningThreads threads_;  ///< last: they use the others
};

}  // namespace mpmml
