// Chooses the kernel of a product on the CPU by the settings, the instruction sets of this processor and the estimated
// cost.
#pragma once
#include <atomic>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/status.h"
#include "cpu/kernel.h"

namespace mpmml::cpu {

/// All functions may be called from any thread.
class Planner {
 public:
  Planner();

  const std::vector<const Variant*>& variants() const { return variants_; }

  /// Selection by the settings. The first product computes it, because the backend is created before the settings are
  /// known.
  struct Settings {
    std::string instruction_set;
    /// Variants that the planner may choose by itself, by semiring and element type. Listed in advance because a small
    /// product takes only a microsecond.
    std::vector<const Variant*> variants[std::size(kSemiringNames)][std::size(kDataTypeNames)];
    std::optional<Error> misconfigured;
  };
  const Settings& settings() const;
  /// Throws Error(kOption) if the settings are wrong.
  void require_settings() const;

  /// Throws Error(kVariant) if the variant isn't one of the CPU's.
  const Kernel& kernel_of(const Variant& variant) const { return *known(variant).kernel; }
  /// Returns the reason why a variant can't run a product on this machine; empty if it can.
  std::string refusal(const Problem& problem, const Variant& variant) const;

  /// The plan that compute() follows for operands of these ranges. Throws Error.
  Plan plan(const Problem& problem, const Ranges& ranges, const Variant* requested) const {
    return plan(problem, ranges, requested, likely_variant(problem, requested));
  }
  /// The plan for a `likely` variant that the caller has looked up.
  Plan plan(const Problem& problem, const Ranges& ranges, const Variant* requested, const Variant* likely) const;

  /// The plain kernel can compute most products, so it starts before the ranges are known.
  const Variant* likely_variant(const Problem& problem, const Variant* requested) const;

  /// Returns whether a sample of the elements suggests that another variant than `likely` will be chosen. Then the
  /// values are scanned first, which takes less time than packing the operands twice.
  bool is_unlikely(const Variant& likely, const Problem& problem, const Variant* requested) const;

 private:
  /// A variant's kernel, and the reason why this processor can't run it.
  struct Known {
    const Kernel* kernel;
    std::string refusal;
  };

  /// The plan for values that allow the paths `exact`. `started` is the variant that has started without the ranges, or
  /// null.
  Plan cheapest(const Problem& problem, ArithmeticSet exact, const Variant* requested, const Variant* started) const;

  const Known& known(const Variant& variant) const;
  const std::vector<const Variant*>& candidates(const Operation& operation) const;
  void settle() const;

  std::vector<Known> known_;  ///< by row of kernel_variants()
  std::vector<const Variant*> variants_;
  mutable std::mutex mutex_;
  mutable std::atomic<bool> is_settled_{false};
  mutable Settings settings_;  ///< written once, before is_settled_
};

}  // namespace mpmml::cpu
