// How much host memory there is, and asking for it before it is written.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mpmml {

/// Of the machine; 0 if unknown.
int64_t total_host_bytes();

/// What this process can get without swapping, within the limits of its control groups: those of containers.
int64_t available_host_bytes();

/// Throws Error(kOutOfMemory) if there is no memory for `bytes` that the system promised and that are about to be written: it promises
/// more than it has, and ends a process that writes too much. If little would be left, the memory is taken at once, so that the one who asks
/// next sees it. What the memory holds stays. Small memory isn't asked for.
void claim_memory(void* data, size_t bytes, const char* what);

}  // namespace mpmml
