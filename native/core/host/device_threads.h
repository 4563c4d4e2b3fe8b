// Threads that call multiple devices concurrently.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

#include "core/host/joining_threads.h"

namespace mpmml {

/// One thread for each device except the first, whose work runs on the calling thread. Without thread support all work
/// runs on the calling thread.
class DeviceThreads {
 public:
  /// Starts the threads. Throws Error(kOutOfMemory) if the system refuses a thread.
  explicit DeviceThreads(size_t devices);
  ~DeviceThreads();

  /// Calls `body(device)` for all devices concurrently. Throws the exception of the first device whose call threw.
  void run(const std::function<void(size_t)>& body);

 private:
  void serve(size_t index);
  /// Ends the threads.
  void end();

  const size_t devices_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(size_t)>* body_ = nullptr;
  uint64_t round_ = 0;
  size_t left_ = 0;
  bool ends_ = false;
  JoiningThreads threads_;  ///< last member: threads use the others
};

}  // namespace mpmml
