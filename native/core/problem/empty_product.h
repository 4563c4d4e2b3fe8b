// Products without steps, because K is 0: C is C0, or zero everywhere.
#pragma once
#include "core/problem/problem.h"

namespace mpmml {

/// Writes the results of a product of host matrices. No candidate attains them. Throws Error(kValue).
void store_without_steps(const Problem& problem);

}  // namespace mpmml
