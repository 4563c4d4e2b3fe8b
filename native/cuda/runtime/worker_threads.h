// Threads that are kept from call to call: starting one takes longer than copying a small matrix.
#pragma once
#include <functional>

namespace mpmml::cuda {

/// Runs `task`, which doesn't throw, on an idle thread, or on a new one if all are busy. Idle threads wait and cost
/// nothing; they end with the process.
///
/// Throws Error(kOutOfMemory) if a new thread is needed and the system refuses it; then `task` will not be run. So a caller
/// counts a task as started only after this has returned.
void run_on_thread(std::function<void()> task);

}  // namespace mpmml::cuda
