// Pivots of a closure (core/session/session.h) on the CPU: what the session calls, for any instruction set.
#pragma once
#include <cstdint>
#include <vector>

#include "core/session/session.h"

namespace mpmml::cpu {

/// The most pivots at a time. 64 × 64 elements fit the first cache, and GPUs take as many.
constexpr int64_t kMaxPivots = 64;

/// Pivots of one matrix. Strides are those of rows, in elements.
struct PivotBlock {
  int64_t count;
  void* down;
  int64_t down_stride;
  void* along;
  int64_t along_stride;
  int32_t* next_down;  ///< null if it isn't asked for, as next_along
  int64_t next_down_stride;
  int32_t* next_along;
  int64_t next_along_stride;
  int64_t first_row, first_col;
  void* columns;  ///< may be null, with rows
  int64_t columns_stride;
  void* rows;
  int64_t rows_stride;
  int32_t* next_columns;
  int64_t next_columns_stride;
  /// Room for the pivots' own rows and columns as the other elements of them need them: pivot_room().
  void* room;
};

/// The code for one semiring, element type and instruction set, with or without `next`.
struct PivotKernel {
  int64_t room;  ///< bytes
  /// The rows and columns of the pivots among themselves. Returns the first pivot with which a cycle gains, counted from
  /// the first one, or −1. If there is one, nothing else is to be called.
  int64_t (*among)(const PivotBlock& block);
  /// Afterwards: the pivots' columns, in these rows, which are not those of pivots.
  void (*down)(const PivotBlock& block, int64_t first_row, int64_t end_row);
  /// The pivots' rows, in these columns.
  void (*along)(const PivotBlock& block, int64_t first_col, int64_t end_col);
};

struct PivotKernels {
  const char* isa;
  PivotKernel (*find)(SemiringId semiring, DataType dtype, bool with_next);
};

/// One for each instruction set of the build. The generator writes it.
const std::vector<PivotKernels>& pivot_kernels();

void eliminate_pivots(const Pivots& pivots);

}  // namespace mpmml::cpu
