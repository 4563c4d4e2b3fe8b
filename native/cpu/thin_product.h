// Skinny products: an operand with few lanes and an operand with many, computed by the `thin` family.
#pragma once
#include <atomic>
#include <optional>

#include "core/host/workspace.h"
#include "cpu/kernel.h"

namespace mpmml::cpu {

/// Returns whether the skinny family is efficient for the product.
bool is_thin(const Problem& problem);

/// A product with a kernel of the skinny family. It can compute any product whose operands have no structure, but is
/// efficient only for skinny ones.
class ThinProduct {
 public:
  ThinProduct(const Problem& problem, const Kernel& kernel);

  /// Accumulates A ⊗ B. Returns the ranges of the operands, as far as the arithmetic depends on them. An operand isn't
  /// scanned if the path allows any elements in it; its range then stays empty. If the values of a part exclude all
  /// paths of the kernel, the remaining parts are cancelled and the ranges cover a part of the operands only.
  Ranges accumulate(ArithmeticKind path);

  /// Subtracts the steps that accumulate() has counted, because another kernel computes the product again.
  void retract_steps() const { problem_.count_steps(-steps_counted_); }

  /// Writes C = C0 ⊕ the accumulators into `c`. Returns the linear index of the first result that overflowed, or
  /// kNoOverflow.
  int64_t finish(ArithmeticKind path, const MutableMatrixView& c) const;

 private:
  struct Part {
    int64_t item;
    int64_t first_col;
    int64_t end_col;
    int64_t first_k;
    int64_t end_k;
    char* accumulators;
  };

  Part part(int64_t index) const;
  /// Returns whether the kernel has a path for the values seen so far.
  bool accumulate_part(const Part& part, ArithmeticKind path, Ranges& ranges, const std::atomic<bool>& aborted) const;
  /// Returns lanes of an operand over some steps of a part.
  Lanes lanes(bool of_large, const Part& part, int64_t k) const;
  Ranges in_order(const Ranges& ranges) const;
  char* accumulators(int64_t item, int64_t part) const;
  /// Returns the notes of these accumulators; null without witnesses.
  void* notes(char* accumulators) const;

  const Problem& problem_;
  const Kernel& kernel_;
  const bool a_is_large_;
  const int64_t rows_;  ///< lanes of the small operand
  const int64_t cols_;  ///< lanes of the large one
  int64_t strip_;       ///< lanes of the large one in a part
  int64_t depth_;       ///< k-steps that a part goes over at a time
  int64_t parts_;       ///< parts of k, each with accumulators of its own
  int64_t part_depth_;  ///< k-steps of such a part
  int64_t item_size_;   ///< accumulators of an item of the batch, in bytes
  std::optional<Workspace> accumulators_;
  double steps_counted_ = 0;  ///< outputs × share of K, as Problem::count_steps() counts them
};

}  // namespace mpmml::cpu
