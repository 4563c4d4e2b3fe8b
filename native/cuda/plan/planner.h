// Who chooses how a product is computed, and says what that takes.
#pragma once
#include "core/session/backend.h"

namespace mpmml::cuda {

class Planner {
 public:
  virtual ~Planner() = default;
  /// The plan of a product whose operands have these ranges. Throws Error(kVariant).
  virtual Plan plan(const Problem& problem, const ValueRange& a, const ValueRange& b, const Placement& where) = 0;
  /// The most bytes of device memory that a block of a product of host matrices needs, whatever its values.
  virtual int64_t bytes(const Problem& block, const Problem& whole, const Placement& where) = 0;
};

}  // namespace mpmml::cuda
