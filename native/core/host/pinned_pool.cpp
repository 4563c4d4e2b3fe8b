#include "core/host/pinned_pool.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "core/host/fault_injection.h"
#include "core/host/host_memory.h"
#include "core/host/huge_pages.h"
#include "core/rounding.h"

namespace mpmml {
namespace {

/// Number of pieces of the current size in a block. Larger blocks delay concurrent calls longer: locking pages takes
/// about 50 µs per MiB.
constexpr int64_t kPiecesOfBlock = 4;
constexpr int64_t kMinBlockBytes = int64_t{4} << 20, kMaxBlockBytes = int64_t{64} << 20;
/// Number of requests before the first block. A single product doesn't justify a block, which takes longer than the
/// product. Later the pool grows ahead of need.
constexpr int kTimesWorthFirstBlock = 2;
/// Number of requests of a size before blocks of other sizes are replaced.
constexpr int kTimesWorthReplacing = 8;

/// Divisor of the initially free memory for the pool's limit, and the upper bound of that limit.
constexpr int64_t kShareKept = 8;
constexpr int64_t kMaxKept = int64_t{8} << 30;
/// Divisor of the limit above which lost memory counts as much.
constexpr int64_t kShareLost = 8;
/// Divisor of the free memory for the maximum size of a block.
constexpr int64_t kShareOfFree = 4;

/// Returns the size of a piece in whole pages, so that no page contains two pieces.
int64_t bytes_of_piece(int64_t bytes) { return round_up(std::max<int64_t>(bytes, 1), kPage); }

}  // namespace

PinnedPool::PinnedPool(const Source& source)
    : source_(source), limit_(std::min(kMaxKept, available_host_bytes() / kShareKept)) {}

void PinnedPool::set_limit(int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  limit_ = bytes;
}

void* PinnedPool::take(int64_t bytes) {
  bytes = bytes_of_piece(bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  char* const piece = take_free(bytes);
  const bool has_another = by_size_.lower_bound({bytes, nullptr}) != by_size_.end();
  if (!has_another && bytes <= limit_) {
    lacking_ = std::max(lacking_, bytes);
    times_lacking_ += !piece || times_lacking_ == 0;
  }
  return piece;
}

std::shared_ptr<PinnedPool::BlockAllocation> PinnedPool::begin_growth() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (growth_ || times_lacking_ < (blocks_.empty() ? kTimesWorthFirstBlock : 1)) return nullptr;
  const int64_t several = std::clamp(kPiecesOfBlock * lacking_, kMinBlockBytes, kMaxBlockBytes);
  const int64_t bytes = std::max(lacking_, std::min(several, limit_));
  int64_t unused = 0;
  if (times_lacking_ >= kTimesWorthReplacing) {
    for (const auto& [first, block] : blocks_) unused += block.used == 0 ? block.bytes : 0;
  }
  if (held_ - unused + bytes > limit_) return nullptr;
  return std::make_shared<BlockAllocation>(*this, bytes);
}

PinnedPool::BlockAllocation::~BlockAllocation() {
  const std::lock_guard<std::mutex> lock(pool_.mutex_);
  end();
}

/// Unregisters the pending allocation. The caller must hold the pool's mutex.
void PinnedPool::BlockAllocation::end() {
  if (pool_.growth_ == this) pool_.growth_ = nullptr;
}

void PinnedPool::BlockAllocation::run(int device) noexcept {
  char* block = nullptr;
  bool is_refused = false;
  try {
    bool has_room;
    {
      const std::lock_guard<std::mutex> lock(pool_.mutex_);
      has_room = pool_.make_room(bytes_);
    }
    pool_.free_surplus();
    if (has_room && bytes_ <= available_host_bytes() / kShareOfFree) {
      block = static_cast<char*>(pool_.source_.allocate(bytes_, device));
    }
  } catch (const std::exception&) {
    is_refused = true;
  }
  const std::lock_guard<std::mutex> lock(pool_.mutex_);
  end();
  pool_.lacking_ = 0;
  pool_.times_lacking_ = 0;
  if (block) pool_.add_block(block, bytes_);
  // Later results stay in ordinary memory.
  if (is_refused) pool_.limit_ = std::min(pool_.limit_, pool_.held_);
}

void* PinnedPool::take_zeros(int64_t bytes, int device) {
  bytes = bytes_of_piece(bytes);
  char* piece;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    piece = take_free(bytes);
  }
  if (!piece) {
    before_allocation();
    auto* const block = static_cast<char*>(source_.allocate(bytes, device));
    const std::lock_guard<std::mutex> lock(mutex_);
    add_block(block, bytes);
    take_of(block, bytes, bytes);
    piece = block;
  }
  std::memset(piece, 0, static_cast<size_t>(bytes));
  return piece;
}

bool PinnedPool::give_back(void* memory) {
  auto* piece = static_cast<char*>(memory);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto taken = taken_.find(piece);
  int64_t bytes = taken->second;
  taken_.erase(taken);
  const auto block = block_of(piece);
  block->second.used -= bytes;
  used_ -= bytes;
  const auto after = free_.find(piece + bytes);
  if (after != free_.end() && after->first < block->first + block->second.bytes) {
    const int64_t more = after->second;
    remove_free(piece + bytes, more);
    bytes += more;
  }
  const auto next = free_.lower_bound(piece);
  if (next != free_.begin()) {
    const auto [before, size] = *std::prev(next);
    if (before >= block->first && before + size == piece) {
      remove_free(before, size);
      piece = before;
      bytes += size;
    }
  }
  add_free(piece, bytes);
  if (block->second.used == 0 && held_ > limit_) make_surplus(block);
  return !surplus_.empty();
}

void PinnedPool::free_surplus() noexcept {
  std::vector<std::pair<char*, int64_t>> blocks;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks.swap(surplus_);
  }
  for (const auto& [block, bytes] : blocks) source_.free(block, bytes);
}

void PinnedPool::detach(void* piece) {
  const std::lock_guard<std::mutex> lock(mutex_);
  lost_ += taken_.at(static_cast<char*>(piece));
}

bool PinnedPool::has_lost_much() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return lost_ > limit_ / kShareLost;
}

PinnedUse PinnedPool::use() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {limit_, held_, used_};
}

/// Takes the smallest free piece that is large enough.
char* PinnedPool::take_free(int64_t bytes) {
  const auto found = by_size_.lower_bound({bytes, nullptr});
  if (found == by_size_.end()) return nullptr;
  const auto [size, piece] = *found;
  take_of(piece, size, bytes);
  return piece;
}

/// Takes the first `bytes` of the `size` free bytes at `piece`.
void PinnedPool::take_of(char* piece, int64_t size, int64_t bytes) {
  remove_free(piece, size);
  if (size > bytes) add_free(piece + bytes, size - bytes);
  block_of(piece)->second.used += bytes;
  used_ += bytes;
  taken_.emplace(piece, bytes);
}

void PinnedPool::add_block(char* block, int64_t bytes) {
  blocks_.emplace(block, Block{bytes, 0});
  held_ += bytes;
  add_free(block, bytes);
}

PinnedPool::Blocks::iterator PinnedPool::block_of(char* piece) { return std::prev(blocks_.upper_bound(piece)); }

void PinnedPool::add_free(char* first, int64_t bytes) {
  free_.emplace(first, bytes);
  by_size_.emplace(bytes, first);
}

void PinnedPool::remove_free(char* first, int64_t bytes) {
  free_.erase(first);
  by_size_.erase({bytes, first});
}

/// Moves a block without pieces to the surplus.
void PinnedPool::make_surplus(Blocks::iterator block) {
  remove_free(block->first, block->second.bytes);
  held_ -= block->second.bytes;
  surplus_.emplace_back(block->first, block->second.bytes);
  blocks_.erase(block);
}

/// Moves blocks without pieces to the surplus until the limit allows a block of `bytes` bytes. Returns whether it does.
bool PinnedPool::make_room(int64_t bytes) {
  for (auto block = blocks_.begin(); block != blocks_.end() && held_ + bytes > limit_;) {
    const auto next = std::next(block);
    if (block->second.used == 0) make_surplus(block);
    block = next;
  }
  return held_ + bytes <= limit_;
}

}  // namespace mpmml
