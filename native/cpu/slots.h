// Working memory for each thread of a computation.
#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/host/workspace.h"
#include "core/rounding.h"
#include "cpu/loop.h"

namespace mpmml::cpu {

/// Working memory of threads, allocated before the first result is written, because C must stay unchanged if memory is
/// short.
class Slots {
 public:
  Slots(int64_t bytes, int64_t threads) : bytes_(round_up(bytes, kAlignment)), memory_(checked_size(bytes_, threads)) {
    for (int64_t index = 0; index < threads; ++index) {
      idle_.push_back(static_cast<char*>(memory_.data()) + index * bytes_);
    }
  }

  /// The memory of one thread, while the object exists.
  class Slot {
   public:
    explicit Slot(Slots& all) : all_(all) {
      std::lock_guard<std::mutex> lock(all_.mutex_);
      data_ = all_.idle_.back();
      all_.idle_.pop_back();
    }
    ~Slot() {
      std::lock_guard<std::mutex> lock(all_.mutex_);
      all_.idle_.push_back(data_);
    }
    Slot(const Slot&) = delete;
    void* data() const { return data_; }

   private:
    Slots& all_;
    void* data_;
  };

 private:
  static constexpr int64_t kAlignment = 64;

  const int64_t bytes_;
  const Workspace memory_;
  std::mutex mutex_;
  std::vector<void*> idle_;
};

}  // namespace mpmml::cpu
