// Work that goes on after it has been started, as on a GPU, for tests on machines without one.
#pragma once
#include <chrono>
#include <memory>

#include "core/session/backend.h"

namespace mpmml {

/// The same devices, whose work is done as soon as theirs, but shows that only later: each takes so long, one after the other. A session
/// that is closed before what it has allocated and started has ended ends the process.
std::shared_ptr<Backend> delayed(std::shared_ptr<Backend> backend, std::chrono::microseconds by);

}  // namespace mpmml
