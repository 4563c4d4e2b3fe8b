// Measured choices: which variant was the fastest on a GPU model for products of about some size. If nothing was
// measured, the planner estimates (cost.h).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/plan/variant.h"
#include "core/problem/problem.h"

namespace mpmml::cuda {

/// `variant` was the fastest for products of these sizes whose cheapest exact path was `path`.
struct MeasuredChoice {
  const Variant* variant;
  ArithmeticKind path;
  int64_t m, n, k, batch;
};

/// Replaces the choices for the GPUs of a model, by the name that device_name() gives. Makes no CUDA call.
void set_measured_choices(const std::string& gpu, const std::vector<MeasuredChoice>& choices);

/// The choice measured on `gpu` for a similar product: each size is nearest to the same power of two, and the cheapest
/// path is the same, except that a zero in the operands makes no difference.
std::optional<MeasuredChoice> measured_choice(const std::string& gpu, const Problem& problem, ArithmeticSet exact);

}  // namespace mpmml::cuda
