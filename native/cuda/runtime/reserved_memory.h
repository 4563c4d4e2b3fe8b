// Memory reservation of a session.
#pragma once
#include <algorithm>
#include <functional>
#include <optional>

#include "core/session/session.h"
#include "cuda/runtime/memory_reservation.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

/// Reserves device memory for a session. The session's allocations are taken from the reservation during the lifetime
/// of this object.
class ReservedMemory final : public Share {
 public:
  /// Waits until earlier products leave the `needed` bytes of the device, or its capacity if that is less. Amounts up
  /// to unreserved_threshold() are granted at once. Throws Error(kAborted) if `is_cancelled` while it waits.
  ReservedMemory(SessionDevice& device, const Ledger::Demand& needed, int64_t limit,
                 const std::function<bool()>& is_cancelled)
      : device_(device), bytes_(unreserved_threshold(limit)) {
    if (needed.bytes > bytes_) {
      bytes_ = std::min(needed.bytes, device_capacity(device.device(), limit));
      reservation_.emplace(reserve(device.device(), {bytes_, needed.call}, limit, is_cancelled));
    }
    device_.set_reserved(bytes_);
  }
  ~ReservedMemory() override { device_.set_reserved(0); }

  int64_t bytes() const { return bytes_; }

 private:
  SessionDevice& device_;
  int64_t bytes_;
  std::optional<MemoryReservation> reservation_;
};

}  // namespace mpmml::cuda
