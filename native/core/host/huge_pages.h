// Allocation of large memory in huge pages.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mpmml {

/// Sizes of the processor's pages and huge pages in bytes.
constexpr int64_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;

/// Advises the system to use huge pages wherever a whole one fits. The advice helps memory that has not been written
/// yet: each small page costs a page fault at its first write.
void prefer_huge_pages(void* data, size_t bytes);

/// Allocates uninitialized memory, aligned for vectors. Memory of at least kHugePage bytes is aligned to huge pages,
/// and the system is advised to use them: each small page costs a TLB entry and a page fault. Returns null if the
/// system refuses the memory.
void* allocate_pages(size_t bytes);

/// Frees memory of allocate_pages(bytes). Large memory returns to the system in pieces: the return of some gibibytes as a
/// whole takes a second, in which no thread of the process gets other memory.
void free_pages(void* data, size_t bytes);

}  // namespace mpmml
