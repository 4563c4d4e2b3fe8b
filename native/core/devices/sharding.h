// A session of multiple devices, over which matrices are sharded by rows (batches by batch entries).
#pragma once
#include <memory>
#include <vector>

#include "core/session/session.h"

namespace mpmml {

struct ShardedDevices {
  /// Sessions of one backend.
  std::vector<std::shared_ptr<Session>> sessions;
  /// Device number of each session.
  std::vector<int> numbers;
  /// Relative speed of each device, in proportion to which it gets rows.
  std::vector<double> speeds;
  /// A matrix of fewer bytes isn't sharded, and one of fewer nodes is closed on the first device.
  MultiDeviceThresholds limits;
};

std::unique_ptr<Session> open_sharded(ShardedDevices devices);

}  // namespace mpmml
