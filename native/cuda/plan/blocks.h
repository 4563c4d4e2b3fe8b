// Products that don't fit device memory: cut into blocks of C that do, each a product of its own.
#pragma once
#include <functional>

#include "core/backend.h"

namespace mpmml::cuda {

using BytesOf = std::function<int64_t(const Problem& block)>;

/// The smallest block that multiply_in_blocks() cuts `problem` into: a device that has no memory for it can't help.
Problem smallest_block(const Problem& problem);

/// Computes `problem` block by block with `multiply`, each block of at most `bytes` of device memory, as `bytes_of` tells. K
/// is never cut, so every block is exact by itself.
Outcome multiply_in_blocks(const Problem& problem, int64_t bytes, const BytesOf& bytes_of,
                           const std::function<Outcome(const Problem& block)>& multiply);

}  // namespace mpmml::cuda
