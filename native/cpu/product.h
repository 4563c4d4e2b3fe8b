// One product with one kernel: blocks, panels and threads.
#pragma once
#include "core/range.h"
#include "cpu/blocking.h"
#include "cpu/kernel.h"
#include "cpu/operand.h"

namespace mpmml::cpu {

/// The ranges of both operands.
struct Ranges {
  ValueRange a;
  ValueRange b;
};

/// The paths that are exact for operands with these ranges.
PathSet exact_paths_of(const Problem& problem, const Ranges& ranges);

/// A product whose operands are packed for one kernel.
class PackedProduct {
 public:
  /// Packs both operands; where the kernel takes offsets off them, `ranges` and `path` must be what holds.
  PackedProduct(const Problem& problem, const PackedKernel& kernel, const Ranges& ranges = {},
                RangePath path = RangePath::kTranslated);

  /// What occurs in the operands.
  const Ranges& ranges() const { return ranges_; }

  /// C = C0 ⊕ A ⊗ B into `c`; returns the linear index of the first result that overflowed, or kNoOverflow.
  int64_t multiply(RangePath path, const MutableMatrixView& c);

 private:
  class Run;

  const Problem& problem_;
  const PackedKernel& kernel_;
  const int64_t padded_k_;
  const Blocking blocking_;
  PackedOperand a_;
  PackedOperand b_;
  Ranges ranges_;
};

/// The same for a kernel that reads the operands where they are.
int64_t multiply_rows(const Problem& problem, const RowsKernel& kernel, RangePath path, const MutableMatrixView& c);

/// The ranges of the operands, by a pass over each; nothing where the kernel needs to know none.
Ranges scan(const Problem& problem, const RowsKernel& kernel);

}  // namespace mpmml::cpu
