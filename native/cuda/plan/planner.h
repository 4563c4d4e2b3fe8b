// Interface of the planner, which selects the variant and the arithmetic of products and reports their memory.
#pragma once
#include "core/session/backend.h"

namespace mpmml::cuda {

class Planner {
 public:
  virtual ~Planner() = default;
  /// Returns the plan of a product whose operands have these ranges. Throws Error(kVariant).
  virtual Plan plan(const Problem& problem, const ValueRange& a, const ValueRange& b, const Placement& where) = 0;
  /// Returns the maximum bytes of device memory that a block of a product of host matrices needs, for any values.
  virtual int64_t bytes(const Problem& block, const Problem& whole, const Placement& where) = 0;
};

}  // namespace mpmml::cuda
