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

/// Gives the system the pages of memory that is about to be freed, piece by piece. As a whole that takes a second for some
/// gibibytes, in which no thread of the process gets other memory.
void give_back_pages(void* data, size_t bytes);

}  // namespace mpmml
