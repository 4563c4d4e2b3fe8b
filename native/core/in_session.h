// Products of host matrices that a session computes: their results are made in its memory, and copied to the host when the
// products have succeeded.
#pragma once
#include <vector>

#include "core/backend.h"
#include "core/session.h"

namespace mpmml {

/// Computes a product with witnesses. An overflow is in the outcome, as Backend::run() says it. Throws Error.
Outcome multiply_with_witness(Session& session, const Problem& problem, const Placement& where);

/// The bytes of `session` that the results of multiply_together() take.
int64_t bytes_of_result_together(const Problem& problem);

/// Computes products without witnesses, with one transfer each way. Throws Error, which says of which product it is.
std::vector<Outcome> multiply_together(Session& session, const std::vector<Problem>& problems, const Placement& where);

}  // namespace mpmml
