// One product with one kernel: blocks, panels and threads.
#pragma once
#include "core/backend.h"
#include "core/range.h"
#include "cpu/blocking.h"
#include "cpu/kernel.h"
#include "cpu/workspace.h"

namespace mpmml::cpu {

/// The operands of a problem as the panels of one packed kernel.
class PackedOperands {
 public:
  /// Packs both operands and sees their ranges.
  PackedOperands(const Problem& problem, const PackedKernel& kernel);

  const ValueRange& range_a() const { return range_a_; }
  const ValueRange& range_b() const { return range_b_; }

  /// C = C0 ⊕ A ⊗ B into `c`; returns the linear index of the first result that overflowed, or kNoOverflow.
  int64_t multiply(RangePath path, const MutableMatrixView& c) const;

 private:
  /// The panels of the items of one operand; an operand that is the same for the whole batch is packed once.
  struct Operand {
    const MatrixView& view;
    bool is_b;
    int64_t width;
    int64_t lanes;
    int64_t items;
    int64_t panels_per_item;
    int64_t item_bytes;
  };

  Operand describe(const MatrixView& view, bool is_b) const;
  PackRequest request(const Operand& operand, int64_t item, void* data) const;
  void pack(const Operand& operand, void* data, ValueRange& range) const;
  void fill_border(const Operand& operand, void* data, RangePath path) const;
  const char* item(const Operand& operand, const Workspace& data, int64_t batch) const;

  const Problem& problem_;
  const PackedKernel& kernel_;
  int64_t padded_k_;
  Blocking blocking_;
  Operand a_;
  Operand b_;
  Workspace data_a_;
  Workspace data_b_;
  ValueRange range_a_;
  ValueRange range_b_;
};

/// The same for a kernel that reads the operands where they are.
int64_t multiply_rows(const Problem& problem, const RowsKernel& kernel, RangePath path, const MutableMatrixView& c);

/// The range of an operand, by a pass over it.
ValueRange scan(const Problem& problem, const MatrixView& view, const RowsKernel& kernel);

}  // namespace mpmml::cpu
