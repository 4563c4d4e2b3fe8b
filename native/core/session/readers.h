// Copies from a matrix to the host by threads, which no stream orders.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace mpmml {

/// Copy from a memory to the host.
class Reader {
 public:
  virtual ~Reader() = default;
  /// Waits until the copy has read the memory. Doesn't throw.
  virtual void wait_for_copy() = 0;
};

/// Copies from one memory that may be in progress. Removes ended copies, so that the list of a matrix that is only read
/// doesn't grow. Not thread-safe.
class Readers {
 public:
  ~Readers() { forget(readers_.begin()); }

  void add(const std::shared_ptr<Reader>& reader) {
    if (readers_.size() == readers_.capacity()) {
      forget(std::remove_if(readers_.begin(), readers_.end(), [](const auto& weak) { return weak.expired(); }));
    }
    readers_.push_back(reader);
    all_.fetch_add(1, std::memory_order_relaxed);
  }

  void wait() {
    for (const auto& weak : readers_) {
      if (const auto reader = weak.lock()) reader->wait_for_copy();
    }
    forget(readers_.begin());
  }

  /// Returns the number of readers in the lists of all memories of the process, for tests.
  static int64_t remembered() { return all_.load(std::memory_order_relaxed); }

 private:
  using Weak = std::vector<std::weak_ptr<Reader>>;

  /// Removes the readers from `first` on.
  void forget(Weak::iterator first) {
    if (first == readers_.end()) return;
    all_.fetch_sub(readers_.end() - first, std::memory_order_relaxed);
    readers_.erase(first, readers_.end());
  }

  static inline std::atomic<int64_t> all_{0};
  Weak readers_;
};

}  // namespace mpmml
