// Sessions for tests whose work goes on after it has been started, as on a GPU.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "core/session.h"

namespace mpmml::addon {

/// How long work goes on, in microseconds, on devices that are opened from now on; 0: as long as it takes.
inline std::atomic<int64_t> delay_of_work{0};

/// Does what `session` does, at once, but what it started and how that went shows only after the delay. It fails then
/// too. Ends the process if the session doesn't outlive what it has allocated and started.
std::unique_ptr<Session> delayed(std::unique_ptr<Session> session, int64_t microseconds);

}  // namespace mpmml::addon
