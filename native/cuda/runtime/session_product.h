// One product of a session: from resident or host operands to a resident result.
#pragma once
#include <memory>
#include <vector>

#include "cuda/runtime/executor.h"
#include "cuda/runtime/session.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

/// What a product has come to when all its work is queued.
struct QueuedProduct {
  const Problem* problem;
  Outcome outcome;
  std::vector<LaunchTimes> launches;
  LaunchTimes shared{};        ///< of a launch that computes others too; without events if there is none
  double share = 1;            ///< of the launches' time
  const Event* end = nullptr;  ///< after which the result is there; null if nothing was recorded there
};

/// Whether kernels can store into `c`: see Launch::c.
bool takes_stores(const MutableMatrixView& c, DataType dtype, int64_t batch);

/// Queues the product in the device's stream. `lane` has the events. Waits for the device only for values that it must
/// know. Throws Error, as Session::multiply() does.
QueuedProduct queue_product(const Problem& problem, const Placement& where, Planner& planner, SessionDevice& device,
                            Lane& lane);

/// The plan that it would follow.
Plan plan_product(const Problem& problem, const Placement& where, Planner& planner, SessionDevice& device, Lane& lane);

}  // namespace mpmml::cuda
