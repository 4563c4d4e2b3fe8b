// The library's threads. The first product that is large enough for several makes them; they sleep while there is none.
#pragma once
#include <cstdint>

#include "core/function_ref.h"

namespace mpmml::cpu {

/// The function that parallel_for() calls for each index.
using Task = FunctionRef<void(int64_t)>;

/// How many threads a product may use, the calling one included: as the settings say (machine.h), or as many as the
/// processors that this process may use, by its affinity and the quota of its cgroup. Throws Error(kOption) if the
/// settings are wrong.
int thread_count();

/// Runs `task` for each index in [0, count), on the calling thread and on the library's. Returns when all are done. Any
/// number of threads may call it at once. Throws the first exception that a call threw; the rest is given up.
void parallel_for(int64_t count, Task task);

}  // namespace mpmml::cpu
