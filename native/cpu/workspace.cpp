#include "cpu/workspace.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "core/status.h"

namespace mpmml::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kMostKept = size_t{64} << 20;  ///< bytes that stay allocated between products

struct Block {
  void* data;
  size_t capacity;
};

struct Kept {
  std::mutex mutex;
  std::vector<Block> blocks;
  size_t bytes = 0;
};

Kept& kept() {
  // Never destroyed: at the end of the process threads may still return what they hold.
  static Kept* const blocks = new Kept;
  return *blocks;
}

}  // namespace

Workspace::Workspace(size_t bytes) : data_(nullptr), capacity_(std::max<size_t>(bytes, 1)) {
  {
    Kept& all = kept();
    std::lock_guard<std::mutex> lock(all.mutex);
    auto best = all.blocks.end();
    for (auto block = all.blocks.begin(); block != all.blocks.end(); ++block) {
      if (block->capacity >= bytes && (best == all.blocks.end() || block->capacity < best->capacity)) best = block;
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
  data_ = ::operator new(capacity_, kAlignment, std::nothrow);
  if (!data_) {
    throw Error(ErrorCode::kOutOfMemory, "the cpu backend needs " + std::to_string(capacity_ >> 20) +
                                             " MiB of memory for packed operands, and the system refused them");
  }
}

Workspace::~Workspace() {
  Kept& all = kept();
  {
    std::lock_guard<std::mutex> lock(all.mutex);
    if (all.bytes + capacity_ <= kMostKept) {
      try {
        all.blocks.push_back({data_, capacity_});
        all.bytes += capacity_;
        return;
      } catch (const std::bad_alloc&) {
      }
    }
  }
  ::operator delete(data_, kAlignment);
}

}  // namespace mpmml::cpu
