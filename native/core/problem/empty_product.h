// Products with K = 0: C is C0, or zero everywhere.
#pragma once
#include "core/problem/problem.h"

namespace mpmml {

/// Writes the results of a product of host matrices with K = 0. All witnesses are −1. Throws Error(kValue).
void store_without_steps(const Problem& problem);

}  // namespace mpmml
