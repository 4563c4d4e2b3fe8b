// A session that takes a part of a device's memory.
#pragma once
#include <algorithm>
#include <functional>
#include <optional>

#include "core/session/session.h"
#include "cuda/runtime/memory_reservation.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

/// While this is there, what a session allocates is part of bytes that have been reserved for it.
class Admitted final : public Share {
 public:
  /// Waits until earlier products leave the device the `needed` bytes, or all that it can have if that is less. What is so little that
  /// nobody asks for it is there at once. Throws Error(kAborted) if `is_cancelled` while it waits.
  Admitted(SessionDevice& device, const Ledger::Demand& needed, int64_t limit,
           const std::function<bool()>& is_cancelled)
      : device_(device), bytes_(unreserved_threshold(limit)) {
    if (needed.bytes > bytes_) {
      bytes_ = std::min(needed.bytes, device_capacity(device.device(), limit));
      reservation_.emplace(admit(device.device(), {bytes_, needed.call}, limit, is_cancelled));
    }
    device_.set_reserved(bytes_);
  }
  ~Admitted() override { device_.set_reserved(0); }

  int64_t bytes() const { return bytes_; }

 private:
  SessionDevice& device_;
  int64_t bytes_;
  std::optional<MemoryReservation> reservation_;
};

}  // namespace mpmml::cuda
