// The CPU as a device that keeps matrices: in host memory, so that code written for a GPU runs here too.
#pragma once
#include <memory>

#include "core/session/session.h"
#include "cpu/planner.h"

namespace mpmml::cpu {

/// `planner`, which must outlive the session, chooses its kernels.
std::unique_ptr<Session> open_session(const Planner& planner);

}  // namespace mpmml::cpu
