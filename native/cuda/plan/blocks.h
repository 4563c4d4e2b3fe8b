// Products that don't fit device memory. They are divided into blocks of C that do, each a product of its own.
#pragma once
#include <functional>

#include "core/backend.h"

namespace mpmml::cuda {

using BytesOf = std::function<int64_t(const Problem& block)>;

/// The smallest block that multiply_in_blocks() divides `problem` into. If a device has no memory for it, it can't
/// compute the product.
Problem smallest_block(const Problem& problem);

/// Computes `problem` block by block with `multiply`. Each block takes at most `bytes` of device memory, according to
/// `bytes_of`. K is never divided, so every block is exact by itself. `before_writing` is called once, when nothing has
/// been written to C.
Outcome multiply_in_blocks(const Problem& problem, int64_t bytes, const BytesOf& bytes_of,
                           const std::function<Outcome(const Problem& block)>& multiply,
                           const std::function<void()>& before_writing, bool is_variant_requested);

}  // namespace mpmml::cuda
