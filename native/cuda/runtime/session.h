// A device that keeps matrices: what Session promises, on a GPU. Everything is queued in one stream, in the order of the
// calls. The host waits for the device only if it must know values: those of an upload, if the bound of a range doesn't
// tell that sums fit, or if a sample of a large product decides how it is computed (ranked_choice.h).
#pragma once
#include <memory>

#include "core/session/session.h"
#include "cuda/plan/planner.h"

namespace mpmml::cuda {

/// `device_memory`: the most bytes of device memory that matrices and products may take; 0: all that is free.
std::unique_ptr<Session> open_session(int device, int64_t device_memory, Planner& planner);

}  // namespace mpmml::cuda
