// Several devices as one: a session among whose devices matrices are spread by rows (batches by instances).
#pragma once
#include <memory>
#include <vector>

#include "core/session/session.h"

namespace mpmml {

struct SpreadDevices {
  /// All of one backend.
  std::vector<std::shared_ptr<Session>> sessions;
  /// What each is called.
  std::vector<int> numbers;
  /// How fast each is: by that it gets rows.
  std::vector<double> speeds;
  /// A matrix of fewer bytes isn't spread, and one of fewer nodes is closed on the first device.
  MultiDeviceThresholds limits;
};

std::unique_ptr<Session> spread_over(SpreadDevices devices);

}  // namespace mpmml
