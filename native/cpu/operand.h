// One operand of a product, packed for a kernel.
#pragma once
#include <optional>

#include "core/algebra/range.h"
#include "core/host/workspace.h"
#include "cpu/kernel.h"

namespace mpmml::cpu {

class PackedOperand {
 public:
  /// Describes A or B of `problem`, divided into slabs of KC out of padded_k steps (PackRequest, also about `granule`).
  PackedOperand(const Problem& problem, const PackedKernel& kernel, bool is_b, int64_t padded_k, int64_t KC,
                int64_t granule);

  /// The offset that is subtracted from every element from then on (in kernels that take offsets).
  void set_offset(int32_t offset) { offset_ = offset; }
  int32_t offset() const { return offset_; }

  /// Packs every step of k, and returns the range of the values.
  ValueRange pack();
  /// Packs the steps past k, once the path is known.
  void fill_border(RangePath path);

  /// The panel of `lane` in the slab from step k on.
  const void* panel(int64_t item, int64_t k, int64_t lane) const;

 private:
  PackRequest request(int64_t item) const;
  /// An operand that is the same for the whole batch is packed once.
  int64_t own(int64_t item) const { return items_ == 1 ? 0 : item; }

  const Problem& problem_;
  const PackedKernel& kernel_;
  const bool is_b_;
  const MatrixView& view_;
  const int64_t padded_k_;
  const int64_t KC_;
  const int64_t granule_;
  const Band band_;  ///< by lane and step
  const bool is_partial_;
  const int64_t width_;
  const int64_t size_;  ///< of a packed operand
  const int64_t lanes_;
  const int64_t items_;
  const int64_t panels_;  ///< of an item
  const int64_t item_bytes_;
  Workspace data_;
  int32_t offset_ = 0;
};

}  // namespace mpmml::cpu
