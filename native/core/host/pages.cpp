#include "core/host/pages.h"

#include <algorithm>
#include <cstdint>

#include "core/rounding.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mpmml {

void prefer_huge_pages(void* data, size_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr auto kHuge = static_cast<int64_t>(kHugePage);
  const auto start = reinterpret_cast<intptr_t>(data);
  const int64_t first = round_up(start, kHuge);
  const int64_t end = (start + static_cast<int64_t>(bytes)) / kHuge * kHuge;
  // A refusal, by systems without them, changes nothing.
  if (first < end) madvise(reinterpret_cast<void*>(first), static_cast<size_t>(end - first), MADV_HUGEPAGE);
#else
  static_cast<void>(data), static_cast<void>(bytes);
#endif
}

void give_back_pages(void* data, size_t bytes) {
#if defined(MADV_DONTNEED)
  constexpr size_t kPiece = size_t{32} << 20;
  auto* const first = static_cast<char*>(data);
  for (size_t at = 0; at < bytes; at += kPiece) madvise(first + at, std::min(kPiece, bytes - at), MADV_DONTNEED);
#else
  static_cast<void>(data), static_cast<void>(bytes);
#endif
}

}  // namespace mpmml
