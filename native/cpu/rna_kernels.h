// The loops of folding and interaction (cpu/rna.h), for each instruction set. A Triangle describes the layout of all
// tables.
#pragma once
#include <cstdint>
#include <vector>

#include "core/problem/structure.h"
#include "core/rna/triangle.h"

namespace mpmml::cpu {

/// Candidates that the inner table starts with: S2 + add, the inside of a pair of strand 1 together with the pair, and
/// a pair between the strands.
struct Start {
  void* table;
  const void* folded;  ///< S2
  int32_t add;
  const void* inside;  ///< null if no pair of strand 1 encloses all
  int32_t enclosing;
  /// By row: score of a pair of the row's base and the single base of strand 1; null if the interval has more bases.
  const int32_t* between;
};

/// A table to be closed under pairs of its strand, and under products with `folded` from both sides. `folded` is the
/// table itself if a single strand is folded.
struct FoldingTask {
  void* table;
  const void* folded;
  const uint8_t* bases;  ///< by row: of the base after its node
  const void* pairs[4];  ///< by base: score of its pair with the base before each column's node
  int64_t min_loop;
};

/// Functions of one instruction set and score type. Spans of rows and columns begin and end with blocks.
struct RnaKernel {
  /// Bytes that multiply() needs.
  int64_t scratch;
  /// Writes the initial candidates of the table in these rows and columns.
  void (*start)(const Triangle& shape, const Start& start, Span rows, Span columns);
  /// C = C ⊕ A ⊗ B in these rows and columns.
  void (*multiply)(const Triangle& shape, void* c, const void* a, const void* b, Span rows, Span columns,
                   void* scratch);
  /// Closes the block in these rows and columns. All blocks that are nearer to the diagonal in its rows and in its
  /// columns have been closed.
  void (*close)(const Triangle& shape, const FoldingTask& closing, int64_t row_block, int64_t column_block);
};

struct RnaKernels {
  const char* isa;
  RnaKernel int16, int32;
};

/// Kernels for each instruction set of the build. The generator writes this function.
const std::vector<RnaKernels>& rna_kernels();

}  // namespace mpmml::cpu
