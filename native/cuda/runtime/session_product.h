// One product of a session: from resident or host operands to a resident result.
#pragma once
#include <memory>
#include <vector>

#include "cuda/runtime/executor.h"
#include "cuda/runtime/session.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

/// Outcome of a product whose work is queued.
struct QueuedProduct {
  const Problem* problem;
  Outcome outcome;
  std::vector<LaunchTimes> launches;
  LaunchTimes shared{};        ///< of a launch shared with other products; without events if not shared
  double share = 1;            ///< share of the launches' time
  const Event* end = nullptr;  ///< after which the result is available; null if none was recorded
};

/// Returns whether kernels can store to `c` directly: see Launch::c.
bool takes_stores(const MutableMatrixView& c, DataType dtype, int64_t batch);

/// Queues the product in the device's stream, with events from `lane`. Waits for the device only for values that the
/// plan needs. Throws the errors of Session::multiply().
QueuedProduct queue_product(const Problem& problem, const Placement& where, Planner& planner, SessionDevice& device,
                            Lane& lane);

/// Returns the plan that queue_product() would use.
Plan plan_product(const Problem& problem, const Placement& where, Planner& planner, SessionDevice& device, Lane& lane);

}  // namespace mpmml::cuda
