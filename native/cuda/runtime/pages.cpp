#include "cuda/runtime/pages.h"

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>

#include "core/problem/layout.h"
#include "cuda/runtime/worker_threads.h"

namespace mpmml::cuda {
namespace {

constexpr int64_t kMinBytes = int64_t{32} << 20;
constexpr int64_t kPartBytes = int64_t{4} << 20;
/// More of them are slower: they wait for each other in the system (seen on an H200's host, for 256 MiB in huge pages:
/// 40 ms with one thread, 13 with four, 36 with eight).
constexpr int kThreads = 4;

#if defined(__linux__) && !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23  // since Linux 5.14; older systems refuse it
#endif

/// Whether some of the memory, which begins at a page, has no pages yet.
bool lacks_pages([[maybe_unused]] char* memory, [[maybe_unused]] int64_t bytes) {
#ifdef __linux__
  constexpr int kSamples = 16;
  for (int sample = 0; sample < kSamples; ++sample) {
    unsigned char is_there = 1;
    const int64_t page = sysconf(_SC_PAGESIZE), at = bytes / kSamples * sample / page * page;
    if (mincore(memory + at, 1, &is_there) != 0) return false;
    if (!(is_there & 1)) return true;
  }
#endif
  return false;
}

/// Returns false if the system can't do it.
bool populate([[maybe_unused]] char* memory, [[maybe_unused]] int64_t bytes) {
#ifdef __linux__
  return madvise(memory, bytes, MADV_POPULATE_WRITE) == 0;
#else
  return false;
#endif
}

}  // namespace

struct Pages::Work {
  char* next;
  char* end;
  std::mutex mutex;
  std::condition_variable changed;
  int working = 0;

  void run() {
    for (;;) {
      char* part;
      int64_t bytes;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (next >= end) break;
        part = next;
        bytes = std::min<int64_t>(kPartBytes, end - part);
        next += bytes;
      }
      if (!populate(part, bytes)) stop();
    }
    const std::lock_guard<std::mutex> lock(mutex);
    --working;
    changed.notify_all();
  }

  void stop() {
    const std::lock_guard<std::mutex> lock(mutex);
    next = end;
  }
};

Pages::Pages(void* memory, int64_t bytes) {
#ifdef __linux__
  const int64_t page = sysconf(_SC_PAGESIZE);
  const auto address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory));
  auto* const begin = static_cast<char*>(memory) + (round_up(address, page) - address);
  auto* const end = static_cast<char*>(memory) + ((address + bytes) / page * page - address);
  if (bytes < kMinBytes || !lacks_pages(begin, end - begin)) return;
  // With larger pages there are fewer to ask for. It is a hint.
  madvise(begin, end - begin, MADV_HUGEPAGE);
  work_ = std::make_unique<Work>();
  work_->next = begin;
  work_->end = end;
  for (int thread = 0; thread < kThreads; ++thread) {
    {
      const std::lock_guard<std::mutex> lock(work_->mutex);
      ++work_->working;
    }
    try {
      run_on_thread([work = work_.get()] { work->run(); });
    } catch (const std::exception&) {
      // The system has no more threads. Then those that copy the result ask for the pages.
      const std::lock_guard<std::mutex> lock(work_->mutex);
      --work_->working;
      break;
    }
  }
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

Pages::~Pages() {
  if (!work_) return;
  work_->stop();
  std::unique_lock<std::mutex> lock(work_->mutex);
  work_->changed.wait(lock, [this] { return work_->working == 0; });
}

}  // namespace mpmml::cuda
