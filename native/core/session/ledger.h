// Admission to a device's memory. Products that run at the same time share it, so each reserves what it needs before it
// allocates anything. While others hold too much it waits, in the order of arrival.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace mpmml {

/// The reservations of one device's memory, for any threads.
class Ledger {
 public:
  /// A share of the memory; given back when it goes out of scope.
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

  /// Bytes of a product, and the call that the product is a part of, as Placement has it.
  struct Demand {
    int64_t bytes = 0;
    const void* call = nullptr;
  };

  /// Counts bytes of matrices that stay on the device, or fewer if negative.
  void hold(int64_t bytes);

  int64_t held() const;
  int64_t reserved() const;

  /// Waits until memory may have been given back, but not for long.
  void await_change();

  /// Reserves bytes as soon as the products that arrived earlier leave them. `available_capacity` returns the bytes that
  /// `held` bytes of matrices leave to products. A product is always admitted if no other holds memory, because the caller checks
  /// that it fits at all, and if its call holds memory: parts of a call may end together, so none waits for another.
  /// Throws Error(kAborted) if `is_cancelled` while it waits.
  MemoryReservation admit(const Demand& demand, const std::function<int64_t(int64_t held)>& available_capacity,
                          const std::function<bool()>& is_cancelled);

 private:
  void give_back(const MemoryReservation& reservation);
  bool has_reserved(const void* call) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int64_t reserved_ = 0;
  int64_t held_ = 0;                 ///< by matrices that stay
  std::deque<const void*> waiting_;  ///< in the order of arrival
  std::vector<const void*> calls_;   ///< that have reserved memory for a part
};

}  // namespace mpmml
