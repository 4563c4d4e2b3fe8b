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

  struct Result {
    int64_t overflow;  ///< linear index of the first result that overflowed, or kNoOverflow
    bool given_up;     ///< too many results were lost (offset.h): C holds some of them, and isn't to be read
  };

  /// C = C0 ⊕ A ⊗ B into `c`. Results that are lost are computed one by one, which is slow; it can be given up when
  /// there are many.
  Result multiply(RangePath path, const MutableMatrixView& c, bool may_give_up);

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
