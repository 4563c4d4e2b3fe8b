// One product on the CPU.
#pragma once
#include "core/session/backend.h"
#include "cpu/planner.h"

namespace mpmml::cpu {

/// Computes a product of matrices in host memory. Throws Error, as Session::multiply() does.
Outcome compute(const Problem& problem, const Variant* requested, const Planner& planner);

}  // namespace mpmml::cpu
