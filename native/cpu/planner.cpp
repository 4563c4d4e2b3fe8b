#include "cpu/planner.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "core/algebra/dispatch.h"
#include "core/problem/structured.h"
#include "cpu/machine.h"
#include "cpu/product.h"
#include "cpu/thin_product.h"
#include "cpu/threads.h"

namespace mpmml::cpu {
namespace {

/// The instruction set that a variant is compiled for; null if it runs on any.
const char* instruction_set(const Variant& variant) {
  for (const Parameter& parameter : variant.parameters) {
    if (std::strcmp(parameter.name, "isa") == 0) return parameter.value;
  }
  return nullptr;
}

/// In hundredths of a nanosecond on a processor with AVX2. Only the ratios matter.
double cost_of(const Problem& problem, const Kernel& kernel) {
  const double steps = static_cast<double>(problem.outputs()) * static_cast<double>(problem.k());
  const bool reads_in_place = kernel.thin.accumulate;
  if (reads_in_place != is_thin(problem)) return std::numeric_limits<double>::infinity();
  if (reads_in_place) return kernel.thin.operand_size * steps;
  return 0.5 * kernel.packed.operand_size * steps / kernel.packed.steps_per_operand;
}

/// The elements of a product's operands.
double elements_of(const Problem& problem) {
  const double lanes = static_cast<double>(problem.m()) + static_cast<double>(problem.n());
  return static_cast<double>(problem.batch) * static_cast<double>(problem.k()) * lanes;
}

/// Returns whether the operands are large enough to sample elements for the choice of the likely variant.
bool is_sampled(const Problem& problem) { return elements_of(problem) >= 1 << 16; }

/// Returns the cost of knowing the values before the operands are packed: scanning the operands, or packing them twice.
double cost_of_knowing(const Problem& problem) { return (is_sampled(problem) ? 10.0 : 50.0) * elements_of(problem); }

}  // namespace

Planner::Planner() {
  const std::vector<std::string> supported = supported_instruction_sets();
  for (const KernelVariant& row : kernel_variants()) {
    variants_.push_back(&row.variant);
    const char* isa = instruction_set(row.variant);
    const bool runs = !isa || std::find(supported.begin(), supported.end(), isa) != supported.end();
    known_.push_back({row.kernel, runs ? "" : "this processor doesn't have the instruction set " + std::string(isa)});
  }
}

const Planner::Settings& Planner::settings() const {
  if (!is_settled_.load(std::memory_order_acquire)) settle();
  return settings_;
}

void Planner::require_settings() const {
  if (settings().misconfigured) throw Error(*settings_.misconfigured);
}

void Planner::settle() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_settled_.load(std::memory_order_relaxed)) return;
  try {
    settings_.instruction_set = chosen_instruction_set();
    thread_count();
  } catch (const Error& error) {
    settings_.misconfigured = error;
  }
  for (const Variant* variant : variants_) {
    const char* isa = instruction_set(*variant);
    if (!isa || isa == settings_.instruction_set) {
      settings_.variants[static_cast<int>(variant->semiring)][static_cast<int>(variant->dtype)].push_back(variant);
    }
  }
  is_settled_.store(true, std::memory_order_release);
}

const std::vector<const Variant*>& Planner::candidates(const Operation& operation) const {
  require_settings();
  return settings_.variants[static_cast<int>(operation.semiring)][static_cast<int>(operation.dtype)];
}

const Planner::Known& Planner::known(const Variant& variant) const {
  // The index of the variant's row: a lookup in a map takes longer than the sums of a small product.
  const auto& rows = kernel_variants();
  const auto place = reinterpret_cast<uintptr_t>(&variant) - reinterpret_cast<uintptr_t>(&rows.front().variant);
  const size_t row = place / sizeof(KernelVariant);
  if (row < known_.size()) return known_[row];
  throw Error(ErrorCode::kVariant, "variant " + std::string(variant.name) + " isn't one of the cpu backend's");
}

std::string Planner::refusal(const Problem& problem, const Variant& variant) const {
  const Known& it = known(variant);
  if (it.kernel->thin.accumulate && has_structured_operands(problem)) {
    return "it reads operands as a whole, and can't leave out what is outside of a structure: choose another one";
  }
  return it.refusal;
}

Plan Planner::plan(const Problem& problem, const Ranges& ranges, const Variant* requested,
                   const Variant* likely) const {
  const ArithmeticSet exact = exact_arithmetics(problem.operation, ranges.a, ranges.b);
  return cheapest(problem, exact, requested, problem.known ? nullptr : likely);
}

Plan Planner::cheapest(const Problem& problem, ArithmeticSet exact, const Variant* requested,
                       const Variant* started) const {
  return make_plan(problem.operation, exact, candidates(problem.operation), requested,
                   [&](const Variant& variant, ArithmeticKind) {
                     double cost = cost_of(problem, kernel_of(variant));
                     if (started && &variant != started) cost += cost_of_knowing(problem);
                     return VariantCost{refusal(problem, variant), cost};
                   });
}

const Variant* Planner::likely_variant(const Problem& problem, const Variant* requested) const {
  const ArithmeticSet likely{can_overflow(problem.operation) ? ArithmeticKind::kTranslated : ArithmeticKind::kDirect};
  if (!requested) return cheapest(problem, likely, nullptr, nullptr).variant;
  if (!kernel_of(*requested).packed.takes_offsets) return requested;
  return make_plan(problem.operation, likely, candidates(problem.operation), nullptr,
                   [&](const Variant& variant, ArithmeticKind) {
                     return VariantCost{kernel_of(variant).packed.multiply ? "" : "its operands aren't packed", 0};
                   })
      .variant;
}

bool Planner::is_unlikely(const Variant& likely, const Problem& problem, const Variant* requested) const {
  if (!can_overflow(problem.operation)) return false;
  if (requested) return requested != &likely;
  if (!is_sampled(problem)) return false;
  return plan(problem, sample(problem), nullptr, &likely).variant != &likely;
}

}  // namespace mpmml::cpu
