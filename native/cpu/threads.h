// The library's thread pool. The first product that is large enough for several threads creates it; idle threads sleep.
#pragma once
#include <cstdint>

#include "core/function_ref.h"

namespace mpmml::cpu {

/// The function that parallel_for() calls for each index.
using Task = FunctionRef<void(int64_t)>;

/// Returns the number of threads that a product may use, including the calling thread: the number in the settings
/// (machine.h), or the number of processors that the affinity and the cgroup quota allow this process. Throws
/// Error(kOption) if the settings are wrong.
int thread_count();

/// Runs `task` for each index in [0, count), on the calling thread and on the library's, and returns when all calls are
/// done. Any number of threads may call it concurrently. Throws the first exception of a call; the remaining calls are
/// cancelled.
void parallel_for(int64_t count, Task task);

}  // namespace mpmml::cpu
