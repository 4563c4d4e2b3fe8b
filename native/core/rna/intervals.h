// Layout of tables over intervals (triangle.h), for the host and kernels.
#pragma once
#include <cstdint>

#include "core/host_device.h"

namespace mpmml {

/// Number of rows of a block of a triangle.
constexpr int kTriangleBlock = 32;

/// Sizes of a triangle. Rows and columns are counted by position (see Triangle).
struct TriangleSizes {
  int positions, padding;
  int reach;  ///< number of bases of the longest interval, rounded up to whole blocks

  MPMML_HOST_DEVICE int end_column(int block) const {
    // Both values are read before the comparison, because compilers turn loads in a conditional into branches.
    const int end = (block + 1) * kTriangleBlock + reach, last = positions;
    return end < last ? end : last;
  }
  /// Returns the number of elements from one row of a block to the next.
  MPMML_HOST_DEVICE int stride(int block) const { return end_column(block) - block * kTriangleBlock; }
  /// Returns whether the triangle has this block.
  MPMML_HOST_DEVICE bool has(int row_block, int column_block) const {
    return column_block >= row_block && column_block * kTriangleBlock < end_column(row_block);
  }
};

/// Returns the number of a non-empty interval of n bases, given by its nodes a < b.
template <class Int>
MPMML_HOST_DEVICE int64_t number_of_interval(Int n, Int a, Int b) {
  return int64_t{a} * n - int64_t{a} * (a - 1) / 2 + b - a - 1;
}
constexpr int64_t count_of_intervals(int64_t n) { return n * (n + 1) / 2; }

}  // namespace mpmml
