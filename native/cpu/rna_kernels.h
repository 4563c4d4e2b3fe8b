// The loops of folding and interaction (cpu/rna.h), for each instruction set. All tables lie as a Triangle says.
#pragma once
#include <cstdint>
#include <vector>

#include "core/problem/structure.h"
#include "core/rna/triangle.h"

namespace mpmml::cpu {

/// What the inner table starts as: S2 + add, or what lies inside a pair of strand 1 and that pair, or a pair between strands.
struct Start {
  void* table;
  const void* folded;  ///< S2
  int32_t add;
  const void* inside;  ///< null if no pair of strand 1 encloses all
  int32_t enclosing;
  /// By row: what a pair of its base and the one base of strand 1 is worth; null if there are more.
  const int32_t* between;
};

/// A table that becomes closed: under pairs of its strand, and under products with `folded` from both sides. `folded` is the
/// table itself if its strand alone is folded.
struct Closing {
  void* table;
  const void* folded;
  const uint8_t* bases;  ///< by row: of the base after its node
  const void* pairs[4];  ///< by base: what a pair of it and the base before each column's node is worth
  int64_t min_loop;
};

/// Spans of rows and columns begin and end with blocks.
struct RnaKernel {
  /// Bytes that multiply() needs.
  int64_t room;
  /// What of the table is in these rows and columns.
  void (*start)(const Triangle& shape, const Start& start, Span rows, Span columns);
  /// C = C ⊕ A ⊗ B in these rows and columns.
  void (*multiply)(const Triangle& shape, void* c, const void* a, const void* b, Span rows, Span columns, void* room);
  /// Closes the block in these rows and columns. All blocks that are nearer to the diagonal in its rows and in its columns
  /// have been closed.
  void (*close)(const Triangle& shape, const Closing& closing, int64_t row_block, int64_t column_block);
};

struct RnaKernels {
  const char* isa;
  RnaKernel int16, int32;
};

/// One for each instruction set of the build. The generator writes it.
const std::vector<RnaKernels>& rna_kernels();

}  // namespace mpmml::cpu
