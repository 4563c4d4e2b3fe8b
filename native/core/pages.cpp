#include "core/pages.h"

#include <cstdint>

#include "core/layout.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mpmml {

void prefer_huge_pages(void* data, size_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr auto kPage = static_cast<int64_t>(kHugePage);
  const auto start = reinterpret_cast<intptr_t>(data);
  const int64_t first = round_up(start, kPage);
  const int64_t end = (start + static_cast<int64_t>(bytes)) / kPage * kPage;
  // A refusal, by systems without them, changes nothing.
  if (first < end) madvise(reinterpret_cast<void*>(first), static_cast<size_t>(end - first), MADV_HUGEPAGE);
#else
  static_cast<void>(data), static_cast<void>(bytes);
#endif
}

}  // namespace mpmml
