// Threads that are kept from call to call: starting one takes longer than copying a small matrix.
#pragma once
#include <functional>

namespace mpmml::cuda {

/// Runs `task`, which doesn't throw, on an idle thread, or on a new one where all are busy. Idle threads wait and cost
/// nothing; they end with the process.
void run_on_thread(std::function<void()> task);

}  // namespace mpmml::cuda
