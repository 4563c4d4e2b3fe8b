// One product with one kernel: blocks, panels and threads.
#pragma once
#include <atomic>
#include <optional>

#include "cpu/blocking.h"
#include "cpu/kernel.h"
#include "cpu/operand.h"

namespace mpmml::cpu {

/// Keeps the smallest index that any thread reports.
class FirstIndex {
 public:
  void report(int64_t index) {
    int64_t known = first_.load(std::memory_order_relaxed);
    while (index < known && !first_.compare_exchange_weak(known, index, std::memory_order_relaxed)) {
    }
  }
  int64_t value() const { return first_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> first_{kNoOverflow};
};

/// A product whose operands are packed for one kernel.
class PackedProduct {
 public:
  /// Packs both operands. If the kernel subtracts offsets, `ranges` and `path` must be those of the product.
  PackedProduct(const Problem& problem, const PackedKernel& kernel, const Ranges& ranges = {},
                ArithmeticKind path = ArithmeticKind::kTranslated);

  /// The values in the operands.
  const Ranges& ranges() const { return ranges_; }

  /// C = C0 ⊕ A ⊗ B into `c`; returns the linear index of the first result that overflowed, or kNoOverflow.
  int64_t multiply(ArithmeticKind path, const MutableMatrixView& c);

 private:
  void pack_windows();
  /// All k-steps, in operands.
  int64_t work() const;
  /// Returns the steps of a block's slabs, from the first step of the first slab to the end of the last. There is at
  /// least one slab, because C0 and zero are results, too.
  Span steps_of_block(Span rows, Span cols) const;
  /// Writes block `index` into `c`, and returns the first index that overflowed.
  int64_t multiply_block(int64_t index, const MutableMatrixView& c, BlockRequest& request) const;

  /// Returns the multiple to which the steps of a tile are rounded, in operands. Tiles with notes have whole stretches.
  int64_t granule() const { return blocking_.stretch > 0 ? blocking_.stretch : kernel_.k_multiple; }

  const Problem& problem_;
  const PackedKernel& kernel_;
  const bool is_structured_;
  const int64_t padded_k_;  ///< in operands, as PackRequest's
  const Blocking blocking_;
  const int64_t blocks_m_, blocks_n_;  ///< blocks of C
  PackedOperand a_;
  PackedOperand b_;
  Ranges ranges_;
  std::optional<PackedOperand> windows_a_, windows_b_;  ///< for witnesses
};

/// PackedProduct::multiply() for a kernel that reads the operands in place.
int64_t multiply_rows(const Problem& problem, const RowsKernel& kernel, ArithmeticKind path,
                      const MutableMatrixView& c);

/// Returns the ranges of operands that aren't packed. Reads each operand once.
Ranges scan(const Problem& problem);

/// Returns the ranges of a sample of the elements of int32 operands.
Ranges sample(const Problem& problem);

}  // namespace mpmml::cpu
