// The CPU as a device that keeps matrices: in host memory, so that code written for a GPU runs here too.
#pragma once
#include <memory>

#include "core/session.h"

namespace mpmml::cpu {

/// `backend`, which must outlive the session, computes its products.
std::unique_ptr<Session> open_session(Backend& backend);

}  // namespace mpmml::cpu
