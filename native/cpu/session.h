// The CPU as a device whose matrices are in host memory, so that code written for a GPU runs on the CPU, too.
#pragma once
#include <memory>

#include "core/session/session.h"
#include "cpu/planner.h"

namespace mpmml::cpu {

/// Opens a session whose kernels `planner` chooses. `planner` must outlive the session.
std::unique_ptr<Session> open_session(const Planner& planner);

}  // namespace mpmml::cpu
