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

/// What occurs among the values of an operand (core/range.h): minimum > maximum where nothing is finite, and where the
/// elements are floating-point numbers, which aren't looked at.
struct Occurring {
  int64_t minimum;
  int64_t maximum;
  bool has_zero;
};

/// A packed operand: slabs of KC k-steps, in each of them panels of `width` lanes (MR rows of A or NR columns of B), in
/// each of them k-major. Lanes past the operand's last and steps past k hold border elements. What a block of C reads
/// of a slab lies together.
struct PackRequest {
  Lanes source;
  int64_t first_panel;
  int64_t end_panel;
  void* packed;
  int64_t panels;    ///< of the whole operand
  int64_t padded_k;  ///< k rounded up to PackedKernel::k_multiple
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
  /// Tiles of MR × NR accumulators that are carried from slab to slab; null where there is one slab.
  void* accumulators;
  const void* c0;  ///< first element of the block; null where nothing is accumulated
  int64_t c0_row_stride;
  int64_t c0_col_stride;
  void* c;
  int64_t c_row_stride;
  int64_t c_col_stride;
  bool c_is_far;     ///< whether C is too large to be in a cache (and its rows lie together)
  int32_t offset_a;  ///< of the operands, for kernels that take offsets
  int32_t offset_b;
};

/// A packed, register-tiled kernel.
struct PackedKernel {
  int MR;
  int NR;
  int k_multiple;
  int operand_size;
  int accumulator_size;
  bool takes_offsets;  ///< whether an offset is taken off each operand before it is packed (offset.h)
  Occurring (*pack_a)(const PackRequest& request);
  Occurring (*pack_b)(const PackRequest& request);
  /// Writes the steps from k to padded_k of a packed operand; `path` must be known by then.
  void (*fill_border_a)(const PackRequest& request, RangePath path);
  void (*fill_border_b)(const PackRequest& request, RangePath path);
  /// Runs a slab; after the last one writes C, and returns row · cols + col of the block's first result in row-major
  /// order that overflowed, or kNoOverflow.
  int64_t (*multiply)(const BlockRequest& request);
};

/// A kernel that reads the operands where they are.
struct RowsKernel {
  /// Null where every value is as good as any other.
  Occurring (*scan)(const MatrixView& view, int64_t batch);
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

/// Turns the accumulators of a thin product into results.
struct ThinResults {
  RangePath path;
  int64_t rows;
  int64_t cols;
  void* accumulators;
  int64_t row_stride;
  int64_t parts;  ///< accumulators that are combined for each result
  int64_t part_stride;
  const void* c0;  ///< null where nothing is accumulated
  int64_t c0_row_stride;
  int64_t c0_col_stride;
  void* c;
  int64_t c_row_stride;
  int64_t c_col_stride;
  int64_t index_row_stride;  ///< the linear index of the result in row i and column j is i and j times these
  int64_t index_col_stride;
};

/// A kernel that reads the operand with many lanes where it is, for an operand with few.
struct ThinKernel {
  int operand_size;
  int accumulator_size;
  /// accumulators ⊕= small ⊗ large. Finds what occurs only for operands that are held as they are.
  ThinOccurring (*accumulate)(const ThinRequest& request);
  /// Writes C; returns the least linear index of a result that overflowed, or kNoOverflow.
  int64_t (*finish)(const ThinResults& results);
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
