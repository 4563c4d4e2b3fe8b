// One operand of a product, packed for a kernel.
#pragma once
#include "core/algebra/range.h"
#include "core/host/workspace.h"
#include "cpu/kernel.h"

namespace mpmml::cpu {

/// Layout of a packed operand.
struct PackedForm {
  Range (*pack)(const PackRequest& request);
  void (*fill_border)(const PackRequest& request, ArithmeticKind path);  ///< null: its steps have no border
  int64_t width;                                                         ///< lanes of a panel
  int64_t size;                                                          ///< bytes of a packed element
  int64_t padded_k, KC, k_alignment;                                     ///< as PackRequest's
  bool is_across;  ///< whether lanes and k-steps have changed places
};

/// Panels of A or B of `problem`, in slabs of KC out of padded_k steps.
PackedForm panel_form(const Problem& problem, const PackedKernel& kernel, bool is_b, int64_t padded_k, int64_t KC,
                      int64_t k_alignment);
/// Windows of A or B of `problem`, in which a kernel finds witnesses (WindowsOfBlock).
PackedForm window_form(const Problem& problem, const PackedKernel& kernel, bool is_b);

class PackedOperand {
 public:
  /// Allocates memory for A or B of `problem`.
  PackedOperand(const Problem& problem, bool is_b, const PackedForm& form);

  /// Sets the offset that pack() subtracts from every element (in kernels that take offsets).
  void set_offset(int32_t offset) { offset_ = offset; }
  int32_t offset() const { return offset_; }

  /// Packs every step of k, and returns the range of the values. Threads share the work according to the elements in a
  /// packed operand.
  ValueRange pack(int64_t elements_of_operand = 1);
  /// Packs the steps past k. The arithmetic must be known.
  void fill_border(ArithmeticKind path);

  /// Panels of an item.
  int64_t panels() const { return panels_; }
  /// All panels of an item.
  const char* item(int64_t item) const;
  /// The panel of `lane` in the slab from step k on.
  const void* panel(int64_t item, int64_t k, int64_t lane) const;

 private:
  PackRequest request(int64_t item) const;

  const Problem& problem_;
  const PackedForm form_;
  const MatrixView view_;  ///< a row for each lane that is packed
  const Band band_;        ///< of view_
  const bool is_partial_;
  const int64_t items_;
  const int64_t panels_;
  const int64_t item_bytes_;
  Workspace data_;
  int32_t offset_ = 0;
};

}  // namespace mpmml::cpu
