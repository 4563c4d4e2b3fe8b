// Page-locked (pinned) memory of the host, which a GPU reads and writes directly. Locking pages takes longer than most products, so the
// pool locks large blocks, keeps them, and gives them out in pieces.
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

/// In bytes.
struct PinnedUse {
  int64_t limit;  ///< the most that is kept for results
  int64_t held;   ///< that is locked: may be more than the limit, because what was asked for as pinned isn't refused
  int64_t used;   ///< of that by arrays
};

/// Any thread may call it.
class PinnedPool {
 public:
  /// Where blocks come from.
  struct Source {
    void* (*allocate)(int64_t bytes, int device);  ///< throws Error
    void (*free)(void* block, int64_t bytes);
  };

  /// With a limit that is a share of the host's free memory.
  explicit PinnedPool(const Source& source);
  PinnedPool(const PinnedPool&) = delete;

  void set_limit(int64_t bytes);

  /// Memory with undefined content; null if none is free. It takes no longer than ordinary memory, because it never waits
  /// for a block.
  void* take(int64_t bytes);

  /// A block that take() lacked, or that the next call of it would lack. The pool has at most one growth that hasn't run: the
  /// constructor enters it, and the growth removes itself when it has run or is destroyed.
  class BlockAllocation {
   public:
    /// The caller holds the pool's mutex.
    BlockAllocation(PinnedPool& pool, int64_t bytes) : pool_(pool), bytes_(bytes) { pool_.growth_ = this; }
    BlockAllocation(const BlockAllocation&) = delete;
    ~BlockAllocation();

    /// Adds the block. For a thread that has time.
    void run(int device) noexcept;

   private:
    void end();

    PinnedPool& pool_;
    const int64_t bytes_;
  };
  /// Null if there should be none now.
  std::shared_ptr<BlockAllocation> begin_growth();

  /// Zeros, in a new block if none is free. Throws Error.
  void* take_zeros(int64_t bytes, int device);

  /// Returns whether there are blocks to be freed by free_surplus(), which takes long.
  bool give_back(void* piece);
  void free_surplus() noexcept;
  /// Takes back a piece that may be used until the process ends: it stays as it is for ever.
  void detach(void* piece);
  /// Whether so much has been lost that those who may lose more should take none.
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
  std::mutex mutex_;  ///< guards the rest
  int64_t limit_;
  int64_t held_ = 0, used_ = 0, lost_ = 0;
  Blocks blocks_;
  std::map<char*, int64_t> free_;                   ///< bytes by their first; neighbours in a block are one
  std::set<std::pair<int64_t, char*>> by_size_;     ///< the same
  std::unordered_map<char*, int64_t> taken_;        ///< pieces
  std::vector<std::pair<char*, int64_t>> surplus_;  ///< blocks that no piece is of, and their bytes
  int64_t lacking_ = 0;                             ///< the largest piece of whose size no other is free
  int times_lacking_ = 0;                           ///< since the last block was added
  const BlockAllocation* growth_ = nullptr;         ///< that hasn't run
};

}  // namespace mpmml
