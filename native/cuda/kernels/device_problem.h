// A product as kernels see it: what a family's __global__ functions get beside their packed operands.
#pragma once
#include <cstdint>

#include "core/problem/structure.h"

namespace mpmml::cuda {

/// A product, or a part of one, on device memory.
struct DeviceProblem {
  int64_t batch, m, n, k;
  MatrixView a, b, c0;
  /// Its rows are contiguous. If row_stride is a multiple of chunk_elements, each begins where a chunk may.
  MutableMatrixView c;
  int64_t first_instance;  ///< among the operands' instances, if this is a part of a larger launch
  /// The place of the first result in the whole product, and that product's size. They give the index of an overflow.
  int64_t first_item, first_row, first_col, whole_m, whole_n;
  Structure structure;  ///< of this part
  bool is_structured;   ///< whether that leaves any element out
  /// Smallest linear index of a result that overflowed, ~0 if none did; null if it isn't needed.
  unsigned long long* overflow;
  /// As in Problem, for kernels that find witnesses.
  MutableMatrixView witness;
  MatrixView through;
  void* scratch;    ///< device memory for the kernel itself
  int chunk_shift;  ///< a chunk of K is 2^chunk_shift tiles
};

/// A matrix that a product of a group reads.
struct GroupOperand {
  const void* data;
  int64_t row_stride, col_stride;
  Storage storage;
};

/// A product of a group. A batch is an item for each of its instances.
struct GroupItem {
  int64_t m, n, k;
  GroupOperand a, b, c0;  ///< c0.data is null if nothing is accumulated
  void* c;  ///< as DeviceProblem::c: rows are contiguous, and begin where a chunk may if c_row_stride allows it
  int64_t c_row_stride;
  int64_t product;   ///< its place among DeviceGroup::overflows
  int64_t instance;  ///< of the product, for the index of an overflow in it
};

/// Products of different shapes and strides in one launch.
struct DeviceGroup {
  const GroupItem* items;      ///< in device memory
  const int64_t* first_tiles;  ///< the same: item i has the tiles from first_tiles[i] up to first_tiles[i + 1]
  int64_t count, tiles;        ///< items, and the tiles of all of them
  /// For each product the smallest linear index of a result that overflowed, ~0 if none did; null if it isn't needed.
  unsigned long long* overflows;
};

/// Neighbouring elements of a row of C that are stored at once.
MPMML_HOST_DEVICE constexpr int chunk_elements(int64_t bytes) { return bytes == 8 ? 2 : 4; }

enum class Side { kA, kB };

/// The largest multiple that a kernel may round a size up to: rows, columns, or operands along K.
constexpr int64_t kMaxTile = 256;

/// The bits of a word of 32 that number the steps of a product of this depth.
constexpr int bits_of_numbers(int64_t k) {
  int bits = 0;
  while (int64_t{1} << bits < k) ++bits;
  return bits;
}

/// What a kernel stores for a witness in this chunk of K: less than −1, because −1 says that there is no witness.
MPMML_HOST_DEVICE constexpr int32_t hint_of_chunk(int32_t chunk) { return -2 - chunk; }
MPMML_HOST_DEVICE constexpr int32_t chunk_of_hint(int32_t hint) { return -2 - hint; }

}  // namespace mpmml::cuda
