#include "core/host/huge_pages.h"

#include <algorithm>
#include <cstdint>
#include <new>

#include "core/rounding.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mpmml {
namespace {

std::align_val_t alignment_of(size_t bytes) { return std::align_val_t{bytes >= kHugePage ? kHugePage : 64}; }

void return_in_pieces(void* data, size_t bytes) {
#if defined(MADV_DONTNEED)
  constexpr size_t kPiece = size_t{32} << 20;
  auto* const first = static_cast<char*>(data);
  for (size_t at = 0; at < bytes; at += kPiece) madvise(first + at, std::min(kPiece, bytes - at), MADV_DONTNEED);
#else
  static_cast<void>(data), static_cast<void>(bytes);
#endif
}

}  // namespace

void prefer_huge_pages(void* data, size_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr auto kHuge = static_cast<int64_t>(kHugePage);
  const auto start = reinterpret_cast<intptr_t>(data);
  const int64_t first = round_up(start, kHuge);
  const int64_t end = (start + static_cast<int64_t>(bytes)) / kHuge * kHuge;
  // Systems without huge pages reject the advice, without any effect.
  if (first < end) madvise(reinterpret_cast<void*>(first), static_cast<size_t>(end - first), MADV_HUGEPAGE);
#else
  static_cast<void>(data), static_cast<void>(bytes);
#endif
}

void* allocate_pages(size_t bytes) {
  void* const data = ::operator new(bytes, alignment_of(bytes), std::nothrow);
  if (data) prefer_huge_pages(data, bytes);
  return data;
}

void free_pages(void* data, size_t bytes) {
  constexpr size_t kWorthPieces = size_t{64} << 20;
  if (bytes >= kWorthPieces) return_in_pieces(data, bytes / kHugePage * kHugePage);
  ::operator delete(data, alignment_of(bytes));
}

}  // namespace mpmml
