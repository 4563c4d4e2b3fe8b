// Products that don't fit a device's memory. They are divided into blocks of C that do, each a product of its own. K is never
// divided, so every block is exact by itself.
#pragma once
#include <functional>
#include <vector>

#include "core/problem/destination.h"
#include "core/problem/region.h"
#include "core/session/backend.h"

namespace mpmml {

/// The smallest block that `problem` is divided into. If a device has no memory for it, it can't compute the product.
Problem smallest_block(const Problem& problem);

/// Blocks in the order of their rows, each of which takes at most `bytes` of device memory, according to `bytes_of`.
std::vector<Region> blocks_of(const Problem& problem, int64_t bytes,
                              const std::function<int64_t(const Problem& block)>& bytes_of);

/// A product of host matrices, block by block.
class InBlocks {
 public:
  /// Computes a block. Throws Error, as Session::multiply() does.
  using Multiply = std::function<Outcome(const Problem& block)>;

  /// A later block may fail: it allocates memory of its own, and sees its own values.
  InBlocks(const Problem& problem, std::vector<Region> blocks, Multiply multiply)
      : problem_(problem),
        blocks_(std::move(blocks)),
        destination_(problem, blocks_.size() > 1),
        multiply_(std::move(multiply)) {}

  /// Does what can be done before C changes. Throws Error.
  void start() {
    if (destination_.is_separate()) compute();
  }
  /// Does the rest.
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
