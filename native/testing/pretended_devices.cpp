#include "testing/pretended_devices.h"

#include "core/session/session.h"

namespace mpmml {

std::string PretendedDevices::unusable(int device) {
  if (device >= 0 && device < count_) return one_->unusable(0);
  return "there is no device " + std::to_string(device) + ": this machine has " + std::to_string(count_) +
         ", numbered from 0";
}

SeveralLimits PretendedDevices::several_limits() const {
  SeveralLimits limits;
  limits.uses_all = true;
  limits.least_bytes = 0;
  limits.least_nodes = 4;
  limits.steps_worth_ahead = 1e6;
  return limits;
}

}  // namespace mpmml
