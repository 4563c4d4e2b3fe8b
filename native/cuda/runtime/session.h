// Implements Session on a GPU. All work is queued in one stream, in the order of the calls. The host waits for the
// device only if it needs values: for uploads, if the bounds don't prove that sums fit the type, and if a sample of a
// large product decides its plan (ranked_choice.h).
#pragma once
#include <memory>

#include "core/session/session.h"
#include "cuda/plan/planner.h"

namespace mpmml::cuda {

/// Opens a session on a GPU. `device_memory` limits the bytes of device memory of matrices and products; 0: all free
/// memory.
std::unique_ptr<Session> open_session(int device, int64_t device_memory, Planner& planner);

}  // namespace mpmml::cuda
