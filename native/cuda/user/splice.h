// Fills the holes of a template with the instructions of a semiring.
#pragma once
#include <string>
#include <string_view>

#include "core/user/semiring.h"

namespace mpmml::cuda {

/// PTX in which each line `// @step …` and the like (templates/holes.cuh) has become instructions.
std::string instantiate_template(std::string_view head, std::string_view kernel, const UserSemiring& semiring);

/// How many instructions a step is, about: ⊗ and ⊕.
int instructions_of_step(const UserSemiring& semiring);

/// The same of a candidate for a witness.
int instructions_of_candidate(const UserSemiring& semiring);

/// Whether ⊕ is known to be associative to the bit, and zero to be neutral: it is a minimum, a maximum, or of integers a sum, and, or, xor, lane
/// by lane. Then parts of K may be computed apart.
bool is_surely_associative(const UserSemiring& semiring);

}  // namespace mpmml::cuda
