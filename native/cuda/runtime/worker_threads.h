// Pool of threads that are reused between calls, because starting one takes longer than copying a small matrix.
#pragma once
#include <functional>

namespace mpmml::cuda {

/// Runs `task` on an idle thread, or on a new one if all are busy. `task` must not throw. Idle threads sleep, and end
/// with the process.
///
/// Throws Error(kOutOfMemory) if the system refuses a new thread; `task` isn't run then. So callers must count a task
/// as started only after the function has returned.
void run_on_thread(std::function<void()> task);

}  // namespace mpmml::cuda
