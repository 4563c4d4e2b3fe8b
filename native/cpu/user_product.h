// Products over custom semirings (core/user/product.h) on the CPU.
#pragma once
#include <string>

#include "core/user/product.h"

namespace mpmml::cpu {

/// Computes the product into its C. All matrices are in host memory. Throws Error.
void multiply_user(const UserProduct& product);

/// Returns the name of the kernel that multiply_user() would use.
std::string explain_user(const UserProduct& product);

/// Returns the estimated time in milliseconds.
double estimate_user_ms(const UserProduct& product);

/// out = x ⊕ y or x ⊗ y for `count` elements, whose lanes are apart. `out` may be x or y.
void evaluate_user(const UserSemiring& semiring, bool combine, const UserLanes<const uint32_t*>& x,
                   const UserLanes<const uint32_t*>& y, const UserLanes<uint32_t*>& out, int64_t count);

}  // namespace mpmml::cpu
