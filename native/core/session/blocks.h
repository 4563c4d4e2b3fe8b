// Products that exceed a device's memory. They are divided into blocks of C that fit, each of which is a separate
// product. K is never divided, so every block is exact by itself.
#pragma once
#include <functional>
#include <vector>

#include "core/problem/destination.h"
#include "core/problem/region.h"
#include "core/session/backend.h"

namespace mpmml {

constexpr int64_t kMinBlockSide = 128;  ///< least side of a block

/// Returns the smallest block that `problem` can be divided into. A device without memory for it can't compute the
/// product.
Problem smallest_block(const Problem& problem);

/// Returns blocks in the order of their rows, each of which takes at most `bytes` of device memory according to
/// `bytes_of`.
std::vector<Region> blocks_of(const Problem& problem, int64_t bytes,
                              const std::function<int64_t(const Problem& block)>& bytes_of);

/// A product of host matrices, block by block.
class InBlocks {
 public:
  /// Computes a block. Throws Error, as Session::multiply() does.
  using Multiply = std::function<Outcome(const Problem& block)>;

  /// Results may need separate memory, because a later block can fail: each block allocates memory and checks its own
  /// values.
  InBlocks(const Problem& problem, std::vector<Region> blocks, Multiply multiply)
      : problem_(problem),
        blocks_(std::move(blocks)),
        destination_(problem, blocks_.size() > 1),
        multiply_(std::move(multiply)) {}

  /// Computes all blocks if their results go to separate memory. Throws Error.
  void start() {
    if (destination_.is_separate()) compute();
  }
  /// Computes all blocks unless start() did, and copies separate results to C. Throws Error.
  Outcome finish() {
    if (!destination_.is_separate()) compute();
    destination_.commit();
    return std::move(outcome_);
  }

 private:
  void compute();

  const Problem& problem_;
  const std::vector<Region> blocks_;
  const Destination destination_;
  const Multiply multiply_;
  Outcome outcome_;
};

}  // namespace mpmml
