// Test backends that behave like GPUs on machines without them: asynchronous, in blocks, or with several devices.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>

#include "core/session/backend.h"

namespace mpmml {

struct Alteration {
  /// Duration for which work shows as under way after it has been done, one work after the other. A session that is
  /// closed before what it has allocated and started has ended ends the process.
  std::chrono::microseconds delay{0};
  /// Greatest size of the results of a block in which a product of arrays is computed, in bytes; 0: it isn't divided.
  int64_t block_bytes = 0;
  /// Number of devices, all of which are device 0; 0: the backend's own devices. Thresholds for multi-device work are
  /// lowered.
  int devices = 0;
};

/// Returns a backend that computes by `backend`.
std::shared_ptr<Backend> altered(std::shared_ptr<Backend> backend, const Alteration& alteration);

}  // namespace mpmml
