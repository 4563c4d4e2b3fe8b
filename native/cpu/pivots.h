// Pivots of a closure (core/session/session.h) on the CPU: the functions that the session calls, for each instruction
// set.
#pragma once
#include <cstdint>
#include <vector>

#include "core/session/session.h"

namespace mpmml::cpu {

/// Maximum number of pivots of a block, equal to that of GPUs. 64 × 64 elements fit the first-level cache.
constexpr int64_t kMaxPivots = 64;

/// Pivots of one matrix. Strides are those of rows, in elements.
struct PivotBlock {
  int64_t count;
  void* down;
  int64_t down_stride;
  void* along;
  int64_t along_stride;
  int32_t* next_down;  ///< null without next nodes, like next_along
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
  /// Buffer for the pivots' rows and columns, of PivotKernel::scratch bytes. down() and along() read it.
  void* scratch;
};

/// The code for one semiring, element type and instruction set, with or without `next`.
struct PivotKernel {
  int64_t scratch;  ///< bytes
  /// The rows and columns of the pivots among themselves. Returns the offset of the first pivot with an improving
  /// cycle, or −1. After an improving cycle, down() and along() must not be called.
  int64_t (*among)(const PivotBlock& block);
  /// Relaxes the pivots' columns in these rows, which aren't rows of pivots. Must follow among().
  void (*down)(const PivotBlock& block, int64_t first_row, int64_t end_row);
  /// Relaxes the pivots' rows in these columns, which aren't columns of pivots. Must follow among().
  void (*along)(const PivotBlock& block, int64_t first_col, int64_t end_col);
};

struct PivotKernels {
  const char* isa;
  PivotKernel (*find)(SemiringId semiring, DataType dtype, bool with_next);
};

/// Kernels for each instruction set of the build. The generator writes this function.
const std::vector<PivotKernels>& pivot_kernels();

void eliminate_pivots(const Pivots& pivots);

}  // namespace mpmml::cpu
