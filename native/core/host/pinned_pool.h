// Page-locked (pinned) memory of the host, which a GPU reads and writes directly. Locking pages takes longer than most
// products, so the pool locks large blocks, caches them, and divides them into pieces.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mpmml {

/// Memory usage of the pool in bytes.
struct PinnedUse {
  int64_t limit;  ///< limit of the memory cached for results
  int64_t held;   ///< locked memory; may exceed the limit, because explicit requests for pinned memory aren't refused
  int64_t used;   ///< locked memory that arrays use
};

/// Pool of pinned memory. Thread-safe.
class PinnedPool {
 public:
  /// Functions that allocate and free blocks.
  struct Source {
    void* (*allocate)(int64_t bytes, int device);  ///< throws Error
    void (*free)(void* block, int64_t bytes);
  };

  /// Creates a pool whose limit is a fraction of the host's free memory.
  explicit PinnedPool(const Source& source);
  PinnedPool(const PinnedPool&) = delete;

  void set_limit(int64_t bytes);

  /// Takes memory with undefined content; null if none is free. Takes no longer than an ordinary allocation, because it
  /// never waits for a block.
  void* take(int64_t bytes);

  /// Allocation of a block that take() lacked, or that its next call would lack. The pool has at most one pending
  /// allocation: the constructor registers it, and it is removed when it has run or is destroyed.
  class BlockAllocation {
   public:
    /// The caller must hold the pool's mutex.
    BlockAllocation(PinnedPool& pool, int64_t bytes) : pool_(pool), bytes_(bytes) { pool_.growth_ = this; }
    BlockAllocation(const BlockAllocation&) = delete;
    ~BlockAllocation();

    /// Allocates the block and adds it to the pool. For a background thread.
    void run(int device) noexcept;

   private:
    void end();

    PinnedPool& pool_;
    const int64_t bytes_;
  };
  /// Returns the allocation to run; null if the pool needs none now.
  std::shared_ptr<BlockAllocation> begin_growth();

  /// Takes zeroed memory, in a new block if none is free. Throws Error.
  void* take_zeros(int64_t bytes, int device);

  /// Returns a piece to the pool. The result is true if free_surplus(), which takes long, has blocks to free.
  bool give_back(void* piece);
  void free_surplus() noexcept;
  /// Removes a piece that may be used until the process ends. Its memory is never reused.
  void detach(void* piece);
  /// Returns whether so much memory is detached that callers which may detach more should use ordinary memory.
  bool has_lost_much();

  PinnedUse use();

 private:
  struct Block {
    int64_t bytes, used;
  };
  using Blocks = std::map<char*, Block>;

  char* take_free(int64_t bytes);
  void take_of(char* piece, int64_t size, int64_t bytes);
  void add_block(char* block, int64_t bytes);
  Blocks::iterator block_of(char* piece);
  void add_free(char* first, int64_t bytes);
  void remove_free(char* first, int64_t bytes);
  void make_surplus(Blocks::iterator block);
  bool make_room(int64_t bytes);

  const Source source_;
  std::mutex mutex_;  ///< guards the following members
  int64_t limit_;
  int64_t held_ = 0, used_ = 0, lost_ = 0;
  Blocks blocks_;
  std::map<char*, int64_t> free_;                ///< size of each free range by its address; adjacent ranges are merged
  std::set<std::pair<int64_t, char*>> by_size_;  ///< free ranges by size
  std::unordered_map<char*, int64_t> taken_;     ///< size of each taken piece by its address
  std::vector<std::pair<char*, int64_t>> surplus_;  ///< blocks without pieces, and their bytes
  int64_t lacking_ = 0;                             ///< size of the largest piece for which no free range exists
  int times_lacking_ = 0;                           ///< count since the last block was added
  const BlockAllocation* growth_ = nullptr;         ///< pending allocation
};

}  // namespace mpmml
