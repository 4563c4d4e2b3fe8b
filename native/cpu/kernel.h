// Interface between kernel families and the CPU backend: plain function pointers, which the generator writes for each
// row of the variant table. Translation units that are compiled for an instruction set include this header. The header
// must not define inline functions, because the linker could use such a copy for the whole library.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/algebra/value_range.h"
#include "core/plan/variant.h"
#include "core/problem/problem.h"

namespace mpmml::cpu {

/// The index that means that no result overflowed.
constexpr int64_t kNoOverflow = INT64_MAX;

/// An operand as packing sees it: `lanes` rows of A or columns of B, with k elements each. Strides count elements.
struct Lanes {
  const void* data;
  int64_t lanes;
  int64_t k;
  int64_t lane_stride;
  int64_t k_stride;
  Storage storage;
};

/// The ranges of both operands.
struct Ranges {
  ValueRange a;
  ValueRange b;
};

/// Destination of the witnesses of a part of a product (Problem::witness), with the strides of the part's rows and
/// columns.
struct Witnesses {
  int32_t* data;  ///< of the part's first result; null without witnesses
  int64_t row_stride;
  int64_t col_stride;
  const int32_t*
      through;  ///< Problem::through, from the part's first result's row on; null if witnesses don't follow it
  int64_t through_row_stride;
  int64_t through_col_stride;
  int64_t through_k_stride;
  /// Returns the witness of the result with this linear index and this value, by its definition.
  int32_t (*define)(const Problem& problem, int64_t index, int32_t result);
  const Problem* problem;
};

/// Destination of the results of a part of a product, and the inputs of the epilogue (epilogue.h) apart from the
/// accumulators. The part's rows may be columns of C.
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
  Band band;         ///< of the results among the part's elements; the others aren't written
  bool is_partial;   ///< whether some elements may be outside of `band`
  bool c_is_far;     ///< whether C is too large for a cache (and its rows are contiguous)
  int32_t offset_a;  ///< of the operands, for kernels that take offsets
  int32_t offset_b;
  Witnesses witnesses;
};

/// A packed operand: slabs of KC steps, each with panels of `width` lanes (MR rows of A or NR columns of B), each
/// k-major. Lanes past the operand's last and steps past k hold border elements. What a block of C reads of a slab is
/// contiguous. A step of a packed operand is steps_per_operand k-steps of its source: one, except for bits.
struct PackRequest {
  Lanes source;
  int64_t first_panel;
  int64_t end_panel;
  void* packed;
  int64_t panels;    ///< of the whole operand
  int64_t padded_k;  ///< its steps, rounded up to PackedKernel::k_multiple
  int64_t KC;        ///< also a multiple of k_multiple
  int32_t offset;    ///< subtracted from the elements, by kernels that take offsets
  Band band;  ///< the elements of the source, by lane and k-step, that belong to it; others are zero and aren't read
  bool is_partial;  ///< whether some elements may be outside of `band`
  /// If `is_partial`, only the steps of a panel that contain elements of the operand are packed, extended to multiples
  /// of this number. 0: all steps.
  int64_t k_alignment;
};

constexpr int64_t kLanesTogether = 8;

/// Search for the witnesses of a block of C. While the block is computed, the kernel notes for each accumulator the
/// last stretch of k-steps in which the accumulator improved. The candidate is then searched for in this stretch, by
/// windows: contiguous runs of `window` steps of one lane. The windows of kLanesTogether lanes are adjacent, followed
/// by the windows of the next steps.
struct WindowsOfBlock {
  const void* a;  ///< of the whole operand; null without witnesses
  const void* b;
  int64_t row;  ///< the block's first
  int64_t col;
  int64_t count;       ///< windows of a lane
  int64_t of_stretch;  ///< windows of a stretch
  void* notes;         ///< for each accumulator the number of a stretch, of the same size; null if there is only one
  bool are_near;       ///< whether the windows of a block of B fit the second-level cache
};

/// Work on a block of C in one slab: rows × cols results from whole panels.
struct BlockRequest {
  ArithmeticKind path;
  const void* a;  ///< in the slab, the panel of the block's first row
  const void* b;
  int64_t steps;  ///< of the slab
  bool starts;    ///< whether the slab is the first one
  bool ends;      ///< whether it is the last one
  int64_t rows;
  int64_t cols;
  /// Tiles of MR × NR accumulators that are passed on from slab to slab; null if there is only one slab.
  void* accumulators;
  int64_t stretch;  ///< the number of the slab's first stretch
  WindowsOfBlock windows;
  Results results;
  /// Structure of the part of the product that begins with the block, if the product is structured. Each tile then
  /// computes only the steps that contribute to one of its results, extended to the multiples of PackRequest.
  Structure structure;
  bool is_structured;
  int64_t k;            ///< k-steps of the product
  int64_t first_step;   ///< of the slab, in operands
  int64_t k_alignment;  ///< also of PackRequest
};

/// A packed, register-tiled kernel.
struct PackedKernel {
  int MR;
  int NR;
  int k_multiple;
  int steps_per_operand;
  int operand_size;
  int a_size;  ///< of a packed operand of A
  int accumulator_size;
  bool takes_offsets;  ///< whether an offset is subtracted from each operand before it is packed (BiasedIntArithmetic)
  int window;          ///< operands in a window (WindowsOfBlock); 0 if witnesses aren't found in windows
  // Packing returns the values' minimum and maximum if sums can overflow, and whether some aren't elements if the
  // semiring restricts its elements.
  Range (*pack_a)(const PackRequest& request);
  Range (*pack_b)(const PackRequest& request);
  /// Writes the steps past k of a packed operand. `path` must be known by then.
  void (*fill_border_a)(const PackRequest& request, ArithmeticKind path);
  void (*fill_border_b)(const PackRequest& request, ArithmeticKind path);
  /// Packs the windows of an operand. Lanes and k-steps are exchanged in the request, so that a panel holds a window of
  /// each lane.
  Range (*pack_windows)(const PackRequest& request);
  /// Computes a slab. After the last slab it writes C and the witnesses, and returns the smallest linear index of a
  /// result that overflowed, or kNoOverflow.
  int64_t (*multiply)(const BlockRequest& request);
};

/// A kernel that reads the operands in place.
struct RowsKernel {
  /// Writes rows [first_row, end_row) of one product of the batch to `c`; returns the linear index (batch, row,
  /// column) of the first result that overflowed, or kNoOverflow.
  int64_t (*multiply)(const Problem& problem, ArithmeticKind path, const MutableMatrixView& c, int64_t batch,
                      int64_t first_row, int64_t end_row);
};

/// A part of a product of truth values with witnesses: a range of rows ⊗ a range of columns, which begins with a chunk
/// (multiply_first_true() in product.cpp).
struct FirstTrueRequest {
  const uint64_t* a;  ///< words of 64 k-steps, with a bit for each
  int64_t words;      ///< of a row
  const void* b;      ///< chunks of columns, packed
  int64_t chunk_bytes;
  int64_t rows;
  int64_t cols;
  int32_t* lists;  ///< buffer for the numbers of the true k-steps of each row of A
  int64_t list_length;
  Results results;
};

/// Finds the first step in which both operands are true, for each result. The operands are packed as if a row of A, or
/// a row of B, were a panel.
struct FirstTrueKernel {
  int columns;       ///< of a chunk
  int row_bytes;     ///< of a packed row of a chunk
  int operand_size;  ///< of its parts
  int list_slack;    ///< capacity of a list beyond the number of k-steps
  Range (*pack_a)(const PackRequest& request);
  Range (*pack_b)(const PackRequest& request);
  /// Writes C and the witnesses.
  void (*multiply)(const FirstTrueRequest& request);
};

/// A part of a skinny product (thin_product.h): a range of steps of the small operand ⊗ a range of lanes of the large
/// one.
struct ThinRequest {
  ArithmeticKind path;  ///< only its accumulator type is used
  Lanes small;
  Lanes large;
  bool may_be_zero;    ///< whether the large operand may hold zero
  bool starts;         ///< whether the accumulators start here
  void* encoded;       ///< buffer for the encoded elements of the small operand
  void* accumulators;  ///< a row for each lane of the small operand
  int64_t row_stride;  ///< of the accumulators
  /// For each accumulator an integer of the accumulator's size: the first k-step whose candidate is the accumulator, or
  /// −1. Null without witnesses.
  void* notes;
  int64_t first_k;  ///< of the request in the product
};

/// Ranges of the values in a part of a skinny product.
struct ThinRanges {
  Range small;
  /// If the large operand contains zero although `may_be_zero` is false, the accumulators are invalid and the other
  /// ranges unknown.
  Range large;
};

/// Accumulators of a batch entry of a skinny product, and the destination of its results.
struct ThinAccumulators {
  ArithmeticKind path;
  int64_t rows;
  int64_t cols;
  void* accumulators;
  int64_t row_stride;
  int64_t parts;  ///< accumulators that are combined for each result
  int64_t part_stride;
  Results results;
  void* notes;  ///< as in ThinRequest
};

/// A kernel for an operand with few lanes and one with many. It reads the one with many lanes in place.
struct ThinKernel {
  int operand_size;
  int accumulator_size;
  /// accumulators ⊕= small ⊗ large. 64-bit sums allow any elements: then the values of the large operand aren't
  /// checked.
  ThinRanges (*accumulate)(const ThinRequest& request);
  /// Writes C; returns the smallest linear index of a result that overflowed, or kNoOverflow.
  int64_t (*finish)(const ThinAccumulators& accumulators);
};

/// Functions of a variant. The functions of other families are null.
struct Kernel {
  ArithmeticSet paths;
  PackedKernel packed;
  RowsKernel rows;
  ThinKernel thin;
  FirstTrueKernel first_true = {};  ///< kernels of packed bits: products with witnesses
};

struct KernelVariant {
  Variant variant;
  const Kernel* kernel;
};

/// The registry rows of the CPU backend, in the table's order.
const std::vector<KernelVariant>& kernel_variants();

}  // namespace mpmml::cpu
