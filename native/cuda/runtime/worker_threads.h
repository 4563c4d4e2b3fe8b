// Threads that are kept from call to call, because starting one takes longer than copying a small matrix.
#pragma once
#include <functional>

namespace mpmml::cuda {

/// Runs `task` on an idle thread, or on a new one if all are busy. `task` must not throw. Idle threads wait without
/// cost, and end with the process.
///
/// Throws Error(kOutOfMemory) if a new thread is needed but the system refuses it; then `task` won't be run. So a
/// caller must count a task as started only after this has returned.
void run_on_thread(std::function<void()> task);

}  // namespace mpmml::cuda
