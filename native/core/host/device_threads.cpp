#include "core/host/device_threads.h"

#include <exception>

#include "core/host/has_threads.h"

namespace mpmml {

DeviceThreads::DeviceThreads(size_t devices) : devices_(devices), threads_("call a device") {
  if (!kHasThreads) return;
  try {
    for (size_t index = 1; index < devices; ++index) threads_.start([this, index] { serve(index); });
  } catch (...) {
    end();
    throw;
  }
}

DeviceThreads::~DeviceThreads() { end(); }

void DeviceThreads::end() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ends_ = true;
  changed_.notify_all();
}

void DeviceThreads::run(const std::function<void(size_t)>& body) {
  std::vector<std::exception_ptr> failures(devices_);
  const std::function<void(size_t)> guarded = [&](size_t device) {
    try {
      body(device);
    } catch (...) {
      failures[device] = std::current_exception();
    }
  };
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    body_ = &guarded;
    left_ = threads_.size();
    ++round_;
    changed_.notify_all();
  }
  guarded(0);
  for (size_t device = threads_.size() + 1; device < devices_; ++device) guarded(device);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return left_ == 0; });
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void DeviceThreads::serve(size_t index) {
  uint64_t done = 0;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || round_ != done; });
    if (ends_) return;
    done = round_;
    const auto* const body = body_;
    lock.unlock();
    (*body)(index);
    lock.lock();
    if (--left_ == 0) changed_.notify_all();
  }
}

}  // namespace mpmml
