// Large memory in large pages.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mpmml {

/// What the processor's pages hold, and its larger ones.
constexpr int64_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;

/// Asks the system for huge pages in place of small ones, wherever a whole one fits. It helps memory that has not been written yet:
/// each small page costs a page fault when it is first written.
void prefer_huge_pages(void* data, size_t bytes);

/// Allocates uninitialized memory, aligned for vectors. From kHugePage bytes on it is aligned to huge pages, and the system is
/// asked for them: small pages cost an entry of the translation buffer and a page fault each. Returns null if the system
/// refuses the memory.
void* allocate_pages(size_t bytes);

/// Frees memory of allocate_pages(bytes). Large memory returns to the system in pieces: the return of some gibibytes as a
/// whole takes a second, in which no thread of the process gets other memory.
void free_pages(void* data, size_t bytes);

}  // namespace mpmml
