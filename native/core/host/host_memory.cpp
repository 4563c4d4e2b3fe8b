#include "core/host/host_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__EMSCRIPTEN__)
#include <emscripten/heap.h>
#include <malloc.h>
#endif

#include "core/host/control_groups.h"
#include "core/status.h"

namespace mpmml {
namespace {

#if !defined(__EMSCRIPTEN__)
constexpr int64_t kUnknown = -1;

/// Returns the sum of the numbers that follow one of these words at the beginning of a line; kUnknown without any
/// match. An empty word matches a line that is a number.
int64_t numbers_in(const std::string& path, std::initializer_list<const char*> words) {
  int64_t sum = kUnknown;
  if (std::FILE* const file = std::fopen(path.c_str(), "r")) {
    char line[256];
    while (std::fgets(line, sizeof(line), file)) {
      for (const char* const word : words) {
        const size_t length = std::strlen(word);
        long long value;
        if (std::strncmp(line, word, length) != 0 || std::sscanf(line + length, "%lld", &value) != 1) continue;
        sum = std::max<int64_t>(sum, 0) + value;
      }
    }
    std::fclose(file);
  }
  return sum;
}

/// Returns the remaining bytes below the limit of one control group. Returns the greatest number if the group has no
/// limit or doesn't exist.
int64_t left_in_group(const std::string& folder, const char* limit_name, const char* usage_name) {
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  const int64_t limit = numbers_in(folder + limit_name, {""});
  const int64_t used = numbers_in(folder + usage_name, {""});
  if (limit == kUnknown || used == kUnknown) return kNoLimit;
  // The system reclaims the file cache when memory is needed, so the cache counts as available.
  const int64_t cached = numbers_in(folder + "/memory.stat", {"inactive_file ", "active_file "});
  return std::min(limit, std::max<int64_t>(0, limit - used + std::max<int64_t>(cached, 0)));
}

/// Returns the least remaining bytes of all control groups of the process.
int64_t left_in_groups() {
  int64_t least = std::numeric_limits<int64_t>::max();
  for_each_control_group("memory", [&](const std::string& folder, bool is_unified) {
    least = std::min(least, is_unified ? left_in_group(folder, "/memory.max", "/memory.current")
                                       : left_in_group(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes"));
  });
  return least;
}
#endif

#if defined(__linux__)
/// Calls `body` with each page of the memory that isn't backed by physical memory yet.
template <class Body>
void for_each_promised(char* data, size_t bytes, Body body) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t start = reinterpret_cast<uintptr_t>(data) / page * page;
  const size_t pages = (reinterpret_cast<uintptr_t>(data) + bytes - start + page - 1) / page;
  constexpr size_t kPagesAtOnce = size_t{1} << 15;
  std::vector<unsigned char> there(std::min(pages, kPagesAtOnce));
  for (size_t first = 0; first < pages; first += kPagesAtOnce) {
    const size_t count = std::min(kPagesAtOnce, pages - first);
    auto* const at = reinterpret_cast<char*>(start) + first * page;
    if (mincore(at, count * page, there.data()) != 0) std::memset(there.data(), 0, count);
    for (size_t index = 0; index < count; ++index) {
      // The first page may begin before the memory.
      if ((there[index] & 1) == 0) body(std::max(at + index * page, data), page);
    }
  }
}
#endif

}  // namespace

int64_t total_host_bytes() {
#if defined(__EMSCRIPTEN__)
  return static_cast<int64_t>(emscripten_get_heap_max());
#elif defined(_SC_PHYS_PAGES)
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
#else
  return 0;
#endif
}

int64_t available_host_bytes() {
#if defined(__EMSCRIPTEN__)
  // The heap can grow to its maximum, and contains freed blocks.
  const auto end = reinterpret_cast<uintptr_t>(sbrk(0));
  return total_host_bytes() - static_cast<int64_t>(end) + static_cast<uint32_t>(mallinfo().fordblks);
#else
  // Only MemAvailable includes reclaimable caches; free pages don't.
  const int64_t kibibytes = numbers_in("/proc/meminfo", {"MemAvailable:"});
  if (kibibytes != kUnknown) return std::min(kibibytes * 1024, left_in_groups());
#if defined(_SC_AVPHYS_PAGES)
  return static_cast<int64_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
#else
  return total_host_bytes();
#endif
#endif
}

void claim_memory(void* data, size_t bytes, const char* what) {
#if defined(__linux__)
  // The query takes about 0.1 ms, so smaller memory isn't checked.
  constexpr size_t kWorthAsking = size_t{16} << 20;
  // Memory counts as scarce if fewer than this multiple of the request is available. So few calls check concurrently
  // that larger memory suffices for all of them.
  constexpr int64_t kScarce = 8;
  if (bytes < kWorthAsking) return;
  // Unchecked allocations use some of it too.
  const int64_t available = std::max<int64_t>(0, available_host_bytes() - static_cast<int64_t>(kWorthAsking));
  if (static_cast<int64_t>(bytes) <= available / kScarce) return;
  int64_t promised = 0;
  for_each_promised(static_cast<char*>(data), bytes,
                    [&](char*, size_t page) { promised += static_cast<int64_t>(page); });
  if (promised > available) {
    throw Error(ErrorCode::kOutOfMemory, std::string(what) + " needs " + in_mebibytes(promised) +
                                             " of host memory, but only " + in_mebibytes(available) + " are free");
  }
  // An atomic write that changes nothing, even if other threads write there.
  for_each_promised(static_cast<char*>(data), bytes,
                    [](char* at, size_t) { __atomic_fetch_or(at, char{0}, __ATOMIC_RELAXED); });
#else
  static_cast<void>(data), static_cast<void>(bytes), static_cast<void>(what);
#endif
}

}  // namespace mpmml
