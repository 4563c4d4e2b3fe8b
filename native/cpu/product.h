// One product on the CPU: the method, blocks, panels and threads.
#pragma once
#include "core/session/backend.h"
#include "cpu/kernel.h"
#include "cpu/planner.h"

namespace mpmml::cpu {

/// Computes a product of matrices in host memory. Throws Error, as Session::multiply() does.
Outcome compute(const Problem& problem, const Variant* requested, const Planner& planner);

/// Returns the ranges of operands that aren't packed. Reads each operand once.
Ranges scan(const Problem& problem);

/// Returns the ranges of a sample of the elements of int32 operands.
Ranges sample(const Problem& problem);

}  // namespace mpmml::cpu
