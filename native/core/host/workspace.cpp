#include "core/host/workspace.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "core/host/fault_injection.h"
#include "core/host/host_memory.h"
#include "core/host/huge_pages.h"
#include "core/status.h"

namespace mpmml {
namespace {

constexpr size_t kMaxKeptAllocated = size_t{64} << 20;  ///< bytes that stay cached between products

struct Block {
  void* data;
  size_t capacity;
};

struct KeptBlocks {
  std::mutex mutex;
  std::vector<Block> blocks;
  size_t bytes = 0;
};

KeptBlocks& kept() {
  // The list is never destroyed, because threads may still return memory at the end of the process.
  static KeptBlocks* const blocks = new KeptBlocks;
  return *blocks;
}

Error refused(int64_t bytes, Use use) {
  constexpr int64_t kMebibyte = int64_t{1} << 20;
  const int64_t mebibytes = bytes / kMebibyte + (bytes % kMebibyte > 0);
  return Error(ErrorCode::kOutOfMemory, std::string(use == Use::kMatrix ? "a matrix" : "the product") + " needs " +
                                            std::to_string(mebibytes) + " MiB of host memory" +
                                            (use == Use::kMatrix ? "" : " to work in") + ", but the system refused it");
}

}  // namespace

Workspace::Workspace(int64_t size, Use use) : data_(nullptr) {
  // Pointer differences limit an allocation to half of the address space: 2 GiB in WebAssembly.
  if (static_cast<uint64_t>(size) > SIZE_MAX / 2) throw refused(size, use);
  const auto bytes = static_cast<size_t>(size);
  capacity_ = std::max<size_t>(bytes, 1);
  const size_t most = use == Use::kMatrix ? capacity_ + capacity_ / 4 : SIZE_MAX;
  const bool must_fail = failing_allocations.must_fail();
  if (!must_fail) {
    KeptBlocks& all = kept();
    std::lock_guard<std::mutex> lock(all.mutex);
    auto best = all.blocks.end();
    for (auto block = all.blocks.begin(); block != all.blocks.end(); ++block) {
      if (block->capacity < bytes || block->capacity > most) continue;
      if (best == all.blocks.end() || block->capacity < best->capacity) best = block;
    }
    if (best != all.blocks.end()) {
      data_ = best->data;
      capacity_ = best->capacity;
      all.bytes -= capacity_;
      *best = all.blocks.back();
      all.blocks.pop_back();
      return;
    }
  }
  if (!must_fail) data_ = allocate_pages(capacity_);
  if (!data_) throw refused(static_cast<int64_t>(capacity_), use);
  try {
    claim_memory(data_, capacity_, use == Use::kMatrix ? "a matrix" : "the product");
  } catch (...) {
    free_pages(data_, capacity_);
    throw;
  }
}

int64_t Workspace::kept_bytes() {
  KeptBlocks& all = kept();
  std::lock_guard<std::mutex> lock(all.mutex);
  return static_cast<int64_t>(all.bytes);
}

Workspace::~Workspace() {
  KeptBlocks& all = kept();
  {
    std::lock_guard<std::mutex> lock(all.mutex);
    if (all.bytes + capacity_ <= kMaxKeptAllocated) {
      try {
        all.blocks.push_back({data_, capacity_});
        all.bytes += capacity_;
        return;
      } catch (const std::bad_alloc&) {
      }
    }
  }
  free_pages(data_, capacity_);
}

}  // namespace mpmml
