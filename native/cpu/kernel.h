// What a kernel family gives the CPU backend: plain function pointers, written by the generator for each row of the
// variant table. Translation units that are compiled for an instruction set include this header: nothing in it may
// leave inline functions behind that the linker could take for all of the library.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/problem.h"
#include "core/variant.h"

namespace mpmml::cpu {

/// The index that says that no result overflowed.
constexpr int64_t kNoOverflow = INT64_MAX;

/// An operand as packing sees it: `lanes` rows of A or columns of B, of k elements each. Strides count elements.
struct Lanes {
  const void* data;
  int64_t lanes;
  int64_t k;
  int64_t lane_stride;
  int64_t k_stride;
};

/// What occurs among the values of an operand, as ValueRange (core/range.h), as far as the CPU's kernels must know: the range
/// if sums can overflow, and outsiders if there may be any. Nothing else is looked at.
struct Occurring {
  int64_t minimum;
  int64_t maximum;
  bool has_zero;
  bool has_outsider;
};
constexpr Occurring kNothingSeen{INT64_MAX, INT64_MIN, false, false};

/// Where the results of a part of a product go, and what they are made of beside accumulators: what an epilogue needs
/// (epilogue.h). The part's rows may be columns of C.
struct Results {
  const void* c0;  ///< first element of the part; null if nothing is accumulated
  int64_t c0_row_stride;
  int64_t c0_col_stride;
  void* c;
  int64_t c_row_stride;
  int64_t c_col_stride;
  int64_t first_index;  ///< of the part's first result: linear in C (batch, row, column in row-major order)
  int64_t index_row_stride;
  int64_t index_col_stride;
  bool c_is_far;     ///< whether C is too large to be in a cache (and its rows lie together)
  int32_t offset_a;  ///< of the operands, for kernels that take offsets
  int32_t offset_b;
};

/// A packed operand: slabs of KC steps, in each of them panels of `width` lanes (MR rows of A or NR columns of B), in
/// each of them k-major. Lanes past the operand's last and steps past k hold border elements. What a block of C reads
/// of a slab lies together. A step of a packed operand is steps_per_operand k-steps of its source: one, except of bits.
struct PackRequest {
  Lanes source;
  int64_t first_panel;
  int64_t end_panel;
  void* packed;
  int64_t panels;    ///< of the whole operand
  int64_t padded_k;  ///< its steps, rounded up to PackedKernel::k_multiple
  int64_t KC;        ///< a multiple of it as well
  int32_t offset;    ///< is taken off the elements, by kernels that take offsets
};

/// One slab's part of a block of C: rows × cols results from whole panels.
struct BlockRequest {
  RangePath path;
  const void* a;  ///< in the slab, the panel of the block's first row
  const void* b;
  int64_t steps;  ///< of the slab
  bool starts;    ///< whether the slab is the first one
  bool ends;      ///< whether it is the last one
  int64_t rows;
  int64_t cols;
  /// Tiles of MR × NR accumulators that are carried from slab to slab; null if there is one slab.
  void* accumulators;
  Results results;
};

/// A packed, register-tiled kernel.
struct PackedKernel {
  int MR;
  int NR;
  int k_multiple;
  int steps_per_operand;
  int operand_size;
  int accumulator_size;
  bool takes_offsets;  ///< whether an offset is taken off each operand before it is packed (offset.h)
  Occurring (*pack_a)(const PackRequest& request);
  Occurring (*pack_b)(const PackRequest& request);
  /// Writes the steps past k of a packed operand; `path` must be known by then.
  void (*fill_border_a)(const PackRequest& request, RangePath path);
  void (*fill_border_b)(const PackRequest& request, RangePath path);
  /// Runs a slab; after the last one writes C, and returns the least linear index of a result that overflowed, or
  /// kNoOverflow.
  int64_t (*multiply)(const BlockRequest& request);
};

/// A kernel that reads the operands where they are.
struct RowsKernel {
  /// Writes rows [first_row, end_row) of one product of the batch to `c`; returns the linear index (batch, row,
  /// column) of the first result that overflowed, or kNoOverflow.
  int64_t (*multiply)(const Problem& problem, RangePath path, const MutableMatrixView& c, int64_t batch,
                      int64_t first_row, int64_t end_row);
};

/// A part of a thin product (thin_product.h): some steps of the small operand ⊗ some lanes of the large one.
struct ThinRequest {
  RangePath path;  ///< only what arithmetic it calls for matters
  Lanes small;
  Lanes large;
  bool may_be_zero;    ///< whether the large operand may hold zero
  bool starts;         ///< whether the accumulators start here
  void* encoded;       ///< room for the small operand's elements as operands
  void* accumulators;  ///< a row for each lane of the small operand
  int64_t row_stride;  ///< of the accumulators
};

/// What occurs in a part of a thin product.
struct ThinOccurring {
  Occurring small;
  /// Where zero occurs though it may not, the accumulators are spoilt and the rest isn't known.
  Occurring large;
};

/// The accumulators of an item of a thin product, to be made results.
struct ThinAccumulators {
  RangePath path;
  int64_t rows;
  int64_t cols;
  void* accumulators;
  int64_t row_stride;
  int64_t parts;  ///< accumulators that are combined for each result
  int64_t part_stride;
  Results results;
};

/// A kernel that reads the operand with many lanes where it is, for an operand with few.
struct ThinKernel {
  int operand_size;
  int accumulator_size;
  /// accumulators ⊕= small ⊗ large. Sums of 64 bits hold any elements: then the large operand isn't looked at.
  ThinOccurring (*accumulate)(const ThinRequest& request);
  /// Writes C; returns the least linear index of a result that overflowed, or kNoOverflow.
  int64_t (*finish)(const ThinAccumulators& accumulators);
};

/// What a variant of each family has; the functions of the others are null.
struct Kernel {
  PathSet paths;
  PackedKernel packed;
  RowsKernel rows;
  ThinKernel thin;
};

struct KernelVariant {
  Variant variant;
  const Kernel* kernel;
};

/// The registry rows of the CPU backend, in the table's order.
const std::vector<KernelVariant>& kernel_variants();

}  // namespace mpmml::cpu
