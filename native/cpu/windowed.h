// One operand of a product, packed into windows, in which a kernel finds witnesses (WindowsOfBlock).
#pragma once
#include "core/host/workspace.h"
#include "cpu/kernel.h"

namespace mpmml::cpu {

class WindowedOperand {
 public:
  /// Packs A or B of `problem`. `offset` is subtracted from every element, by kernels that take offsets.
  WindowedOperand(const Problem& problem, const PackedKernel& kernel, bool is_b, int32_t offset);

  const void* item(int64_t item) const;
  /// Windows of a lane.
  int64_t count() const { return count_; }

 private:
  /// Packs a part of an item.
  PackRequest request(int64_t item, int64_t panel) const;

  const Problem& problem_;
  const bool is_b_;
  const MatrixView& view_;
  const int64_t lanes_;
  const int64_t count_;
  const int64_t items_;
  const int64_t item_bytes_;
  const Band band_;  ///< by step and lane
  const bool is_partial_;
  const Workspace data_;
};

}  // namespace mpmml::cpu
