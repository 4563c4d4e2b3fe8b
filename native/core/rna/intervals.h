// What the host and kernels know of tables over intervals (triangle.h).
#pragma once
#include <cstdint>

#include "core/host_device.h"

namespace mpmml {

/// The rows of a block of a triangle.
constexpr int kTriangleBlock = 32;

/// The sizes of a triangle. Rows and columns are counted by position, as Triangle says.
struct TriangleSizes {
  int positions, padding;
  int reach;  ///< of the longest interval, in whole blocks

  MPMML_HOST_DEVICE int end_column(int block) const {
    // Both are read before they are compared: compilers make branches of loads otherwise.
    const int end = (block + 1) * kTriangleBlock + reach, last = positions;
    return end < last ? end : last;
  }
  /// From one row of a block to the next.
  MPMML_HOST_DEVICE int stride(int block) const { return end_column(block) - block * kTriangleBlock; }
  /// Whether it has the block in these rows and columns.
  MPMML_HOST_DEVICE bool has(int row_block, int column_block) const {
    return column_block >= row_block && column_block * kTriangleBlock < end_column(row_block);
  }
};

/// Of n bases, the intervals that aren't empty have numbers, by their nodes a < b.
template <class Int>
MPMML_HOST_DEVICE int64_t number_of_interval(Int n, Int a, Int b) {
  return int64_t{a} * n - int64_t{a} * (a - 1) / 2 + b - a - 1;
}
constexpr int64_t count_of_intervals(int64_t n) { return n * (n + 1) / 2; }

}  // namespace mpmml
