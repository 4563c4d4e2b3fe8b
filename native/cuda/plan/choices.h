// Measured choices: which variant was the fastest on a device for products of about some size. Where nothing was measured
// the planner estimates (cost.h).
#pragma once
#include <vector>

#include "core/problem.h"
#include "core/variant.h"

namespace mpmml::cuda {

/// `variant` was the fastest for products of these sizes of which `path` was the cheapest exact path.
struct MeasuredChoice {
  const Variant* variant;
  RangePath path;
  int64_t m, n, k, batch;
};

/// Replaces what is known of `device`.
void set_measured_choices(int device, const std::vector<MeasuredChoice>& choices);

/// The choice measured for a product that is like this one: each size nearest to the same power of two, and the same
/// cheapest path, where a zero in the operands makes no difference. Null where none was.
const Variant* measured_choice(int device, const Problem& problem, PathSet exact);

}  // namespace mpmml::cuda
