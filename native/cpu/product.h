// One product with one kernel: blocks, panels and threads.
#pragma once
#include "cpu/blocking.h"
#include "cpu/kernel.h"
#include "cpu/operand.h"

namespace mpmml::cpu {

/// A product whose operands are packed for one kernel.
class PackedProduct {
 public:
  /// Packs both operands. If the kernel subtracts offsets, `ranges` and `path` must be those of the product.
  PackedProduct(const Problem& problem, const PackedKernel& kernel, const Ranges& ranges = {},
                RangePath path = RangePath::kTranslated);

  /// The values in the operands.
  const Ranges& ranges() const { return ranges_; }

  /// C = C0 ⊕ A ⊗ B into `c`; returns the linear index of the first result that overflowed, or kNoOverflow.
  int64_t multiply(RangePath path, const MutableMatrixView& c);

 private:
  class Run;

  /// Of the steps of a tile, in operands: tiles with notes have whole stretches.
  int64_t granule() const { return blocking_.stretch > 0 ? blocking_.stretch : kernel_.k_multiple; }

  const Problem& problem_;
  const PackedKernel& kernel_;
  const bool is_structured_;
  const int64_t padded_k_;  ///< in operands, as PackRequest's
  const Blocking blocking_;
  PackedOperand a_;
  PackedOperand b_;
  Ranges ranges_;
};

/// The same for a kernel that reads the operands in place.
int64_t multiply_rows(const Problem& problem, const RowsKernel& kernel, RangePath path, const MutableMatrixView& c);

/// What must be known about operands that aren't packed. Reads each of them once.
Ranges scan(const Problem& problem);

/// The values in some of the elements of int32 operands.
Ranges sample(const Problem& problem);

}  // namespace mpmml::cpu
