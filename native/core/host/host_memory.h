// Size of the host's memory, and checks of its availability before writes.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mpmml {

/// Returns the memory of the machine in bytes; 0 if unknown.
int64_t total_host_bytes();

/// Returns the bytes that this process can allocate without swapping, within the limits of its control groups
/// (containers).
int64_t available_host_bytes();

/// Checks that `bytes` of allocated memory can be written. Throws Error(kOutOfMemory) if not: the system overcommits,
/// and kills a process that writes too much. If little memory would remain, the pages are touched at once, so that
/// later checks see them as used. The content of the memory stays. Small memory isn't checked.
void claim_memory(void* data, size_t bytes, const char* what);

}  // namespace mpmml
