// Products that don't fit device memory: cut into blocks of C that do, each a product of its own.
#pragma once
#include <functional>

#include "core/backend.h"

namespace mpmml::cuda {

/// The smallest block that multiply_in_blocks() cuts `problem` into: a device that has no memory for it can't help.
Problem smallest_block(const Problem& problem);

/// Computes `problem` block by block with `multiply`, each block of at most `bytes` of device memory. K is never cut, so
/// every block is exact by itself. Where sums may overflow under the throwing policy, C is computed apart and copied in
/// the end, so that it stays as it was when one does.
Outcome multiply_in_blocks(const Problem& problem, int64_t bytes,
                           const std::function<Outcome(const Problem& block)>& multiply);

}  // namespace mpmml::cuda
