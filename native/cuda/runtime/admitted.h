// A session that takes a part of a device's memory.
#pragma once
#include <utility>

#include "core/session/session.h"
#include "cuda/runtime/admission.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

/// While this is there, what a session allocates is part of `bytes` that have been reserved for it.
class Admitted final : public Share {
 public:
  Admitted(SessionDevice& device, int64_t bytes, Reservation reservation)
      : device_(device), reservation_(std::move(reservation)) {
    device_.set_reserved(bytes);
  }
  ~Admitted() override { device_.set_reserved(0); }

 private:
  SessionDevice& device_;
  const Reservation reservation_;
};

}  // namespace mpmml::cuda
