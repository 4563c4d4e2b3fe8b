// Products that don't fit device memory. They are divided into blocks of C that do, each a product of its own. K is never
// divided, so every block is exact by itself.
#pragma once
#include <functional>
#include <vector>

#include "core/region.h"

namespace mpmml::cuda {

/// The smallest block that `problem` is divided into. If a device has no memory for it, it can't compute the product.
Problem smallest_block(const Problem& problem);

/// Blocks in the order of their rows, each of which takes at most `bytes` of device memory, according to `bytes_of`.
std::vector<Region> blocks_of(const Problem& problem, int64_t bytes,
                              const std::function<int64_t(const Problem& block)>& bytes_of);

}  // namespace mpmml::cuda
