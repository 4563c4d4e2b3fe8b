// Reservations of a device's memory. Concurrent products share the memory, so each product reserves its bytes before it
// allocates. A product waits, in the order of arrival, while others have reserved too much.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace mpmml {

/// Reservations of one device's memory. Thread-safe.
class Ledger {
 public:
  /// Reserved bytes, released at the end of the scope.
  class MemoryReservation {
   public:
    MemoryReservation() = default;
    ~MemoryReservation() {
      if (ledger_) ledger_->give_back(*this);
    }
    MemoryReservation(MemoryReservation&& other) noexcept
        : ledger_(std::exchange(other.ledger_, nullptr)), bytes_(other.bytes_), call_(other.call_) {}
    MemoryReservation& operator=(MemoryReservation&&) = delete;

   private:
    friend class Ledger;
    MemoryReservation(Ledger& ledger, int64_t bytes, const void* call) : ledger_(&ledger), bytes_(bytes), call_(call) {}

    Ledger* ledger_ = nullptr;
    int64_t bytes_ = 0;
    const void* call_ = nullptr;
  };

  /// Bytes of a product, and the call that it belongs to (Placement::call).
  struct Demand {
    int64_t bytes = 0;
    const void* call = nullptr;
  };

  /// Adds `bytes` to the bytes of device-resident matrices. Negative values subtract.
  void hold(int64_t bytes);

  int64_t held() const;
  int64_t reserved() const;

  /// Waits until memory may have been released, or until a short timeout.
  void await_change();

  /// Waits until the bytes are available after all products that arrived earlier, and reserves them.
  /// `available_capacity` returns the bytes for products next to `held` bytes of matrices. A reservation succeeds at
  /// once if no product has reserved memory, because the caller checks that the product fits the device. It also
  /// succeeds at once if its call has reserved memory: parts of a call may end together, so none waits for another.
  /// Throws Error(kAborted) if `is_cancelled` becomes true during the wait.
  MemoryReservation reserve(const Demand& demand, const std::function<int64_t(int64_t held)>& available_capacity,
                            const std::function<bool()>& is_cancelled);

 private:
  void give_back(const MemoryReservation& reservation);
  bool has_reserved(const void* call) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int64_t reserved_ = 0;
  int64_t held_ = 0;                 ///< bytes of device-resident matrices
  std::deque<const void*> waiting_;  ///< in the order of arrival
  std::vector<const void*> calls_;   ///< calls that have reserved memory for a part
};

}  // namespace mpmml
