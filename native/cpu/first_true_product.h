// Products of truth values with witnesses.
#pragma once
#include "cpu/kernel.h"

namespace mpmml::cpu {

/// Writes C = C0 ⊕ A ⊗ B into `c`, and the witnesses.
void multiply_first_true(const Problem& problem, const FirstTrueKernel& kernel, const MutableMatrixView& c);

}  // namespace mpmml::cpu
