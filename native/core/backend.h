// What the core asks of a backend. The core knows backends only through this interface.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/plan.h"
#include "core/problem.h"
#include "core/range.h"
#include "core/variant.h"

namespace mpmml {

/// Milliseconds. Transfers are 0 on the CPU.
struct Timing {
  double kernel = 0;    ///< the kernel of the product alone; on the CPU with the packing
  double analysis = 0;  ///< value-range analysis, if it is a pass of its own
  double h2d = 0;       ///< operands to the device
  double d2h = 0;       ///< result from the device
};

struct Outcome {
  Plan plan{};
  Timing timing;
  /// Under the throwing policy: the smallest linear index (batch, row, column in row-major order) of a result that
  /// is decided by a finite sum outside the finite range. C is left as it was.
  std::optional<int64_t> overflow;
};

/// Where and how to compute, as far as the caller says.
struct Placement {
  int device = 0;
  const Variant* variant = nullptr;  ///< this one, or null: one of the backend's choice
  int64_t device_memory = 0;         ///< bytes of device memory that a product may take; 0: all that is free
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual BackendKind kind() const = 0;
  virtual const std::vector<const Variant*>& variants() const = 0;

  /// Why `device` can't be used now; empty if it can. Never throws.
  virtual std::string unusable(int device) = 0;

  /// Why this product can't be computed there whatever its values; empty if it can. Called only while the device is usable.
  virtual std::string refuses(const Problem& problem, const Placement& where) = 0;

  /// The plan that run() would follow for operands with these ranges. Throws Error.
  virtual Plan plan(const Problem& problem, const ValueRange& a, const ValueRange& b, const Placement& where) = 0;

  /// A rough guess, from the sizes only, at how many milliseconds the product takes, transfers included.
  virtual double estimate_ms(const Problem& problem, int device) = 0;

  /// Computes `problem` (outputs() > 0, K > 0). Throws Error; C is then unspecified after kAborted and kCuda, and as it
  /// was after any other code.
  virtual Outcome run(const Problem& problem, const Placement& where) = 0;
};

}  // namespace mpmml
