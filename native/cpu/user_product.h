// Products over semirings of one's own (core/user/product.h) on the CPU.
#pragma once
#include <string>

#include "core/user/product.h"

namespace mpmml::cpu {

/// Computes it into its C. All matrices are in memory of the host. Throws Error.
void multiply_user(const UserProduct& product);

/// With what it would compute it.
std::string explain_user(const UserProduct& product);

/// Milliseconds, estimated.
double estimate_user_ms(const UserProduct& product);

/// out = x ⊕ y or x ⊗ y for `count` elements, whose lanes are apart. `out` may be x or y.
void evaluate_user(const UserSemiring& semiring, bool combine, const UserLanes<const uint32_t*>& x,
                   const UserLanes<const uint32_t*>& y, const UserLanes<uint32_t*>& out, int64_t count);

}  // namespace mpmml::cpu
