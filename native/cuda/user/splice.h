// Fills the placeholders of a kernel template with the instructions of a semiring.
#pragma once
#include <string>
#include <string_view>

#include "core/user/semiring.h"

namespace mpmml::cuda {

/// Returns PTX in which each placeholder line such as `// @step …` (templates/holes.cuh) is replaced by instructions.
std::string instantiate_template(std::string_view head, std::string_view kernel, const UserSemiring& semiring);

/// Returns the approximate number of instructions of a step (⊗ and ⊕).
int instructions_of_step(const UserSemiring& semiring);

/// Returns the approximate number of instructions of a witness candidate (⊗ only).
int instructions_of_candidate(const UserSemiring& semiring);

/// Returns whether ⊕ is provably associative bit for bit, with zero neutral: in each lane a minimum, a maximum, or a
/// sum, and, or, xor of integers. Then parts of K may be computed separately (split-K).
bool is_surely_associative(const UserSemiring& semiring);

}  // namespace mpmml::cuda
