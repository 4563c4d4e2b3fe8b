// Autotuning results: the fastest measured variant on a GPU model, by approximate size of the product. Without a
// measurement the planner uses estimates (cost.h).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/plan/variant.h"
#include "core/problem/problem.h"

namespace mpmml::cuda {

/// A measurement: `variant` was the fastest for products of these sizes whose cheapest exact arithmetic was `path`.
struct MeasuredChoice {
  const Variant* variant;
  ArithmeticKind path;
  int64_t m, n, k, batch;
};

/// Replaces the choices for a GPU model, named as by device_name(). Makes no CUDA call.
void set_measured_choices(const std::string& gpu, const std::vector<MeasuredChoice>& choices);

/// Returns the choice measured on `gpu` for a similar product. Products are similar if each size rounds to the same
/// power of two, and the cheapest exact arithmetics are equal apart from support for zero.
std::optional<MeasuredChoice> measured_choice(const std::string& gpu, const Problem& problem, ArithmeticSet exact);

}  // namespace mpmml::cuda
