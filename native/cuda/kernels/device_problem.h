// Description of a product for kernels: the argument that all families' __global__ functions take in addition to packed
// operands.
#pragma once
#include <cstdint>

#include "core/problem/structure.h"

namespace mpmml::cuda {

/// A product, or a region of one, whose matrices are in device memory.
struct DeviceProblem {
  int64_t batch, m, n, k;
  MatrixView a, b, c0;
  /// Rows are contiguous. If row_stride is a multiple of chunk_elements(), every row begins at a chunk boundary.
  MutableMatrixView c;
  int64_t first_instance;  ///< among the operands' instances, if this is a part of a larger launch
  /// Index of the first result in the whole product, and the size of the whole product. They give the linear index of
  /// an overflow.
  int64_t first_item, first_row, first_col, whole_m, whole_n;
  Structure structure;  ///< of this part
  bool is_structured;   ///< whether the structure excludes any element
  /// Smallest linear index of a result that overflowed, ~0 if none did; null if it isn't needed.
  unsigned long long* overflow;
  /// Witness outputs of Problem; only kernels that find witnesses use them.
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

/// A product of a group. Each batch entry is an item of its own.
struct GroupItem {
  int64_t m, n, k;
  GroupOperand a, b, c0;  ///< c0.data is null if nothing is accumulated
  void* c;                ///< like DeviceProblem::c, with c_row_stride
  int64_t c_row_stride;
  int64_t product;   ///< index in DeviceGroup::overflows
  int64_t instance;  ///< of the product, for the index of an overflow in it
};

/// Products of different shapes and strides in one launch.
struct DeviceGroup {
  const GroupItem* items;      ///< in device memory
  const int64_t* first_tiles;  ///< in device memory: item i has the tiles first_tiles[i] to first_tiles[i + 1] − 1
  int64_t count, tiles;        ///< number of items, and of tiles of all items
  /// For each product the smallest linear index of a result that overflowed, ~0 if none did; null if it isn't needed.
  unsigned long long* overflows;
};

/// Number of neighbouring elements of a row of C in one vector store, for elements of the given bytes.
MPMML_HOST_DEVICE constexpr int chunk_elements(int64_t bytes) { return bytes == 8 ? 2 : 4; }

enum class Side { kA, kB };

/// The largest multiple that a kernel may round a size up to: rows, columns, or operands along K.
constexpr int64_t kMaxTile = 256;

/// Number of bits that the indices of k-steps of a product of depth `k` take.
constexpr int bits_of_numbers(int64_t k) {
  int bits = 0;
  while (int64_t{1} << bits < k) ++bits;
  return bits;
}

/// Hint that a kernel stores instead of a witness: the chunk of K that contains it. Hints are less than −1, because −1
/// means that no witness exists.
MPMML_HOST_DEVICE constexpr int32_t hint_of_chunk(int32_t chunk) { return -2 - chunk; }
MPMML_HOST_DEVICE constexpr int32_t chunk_of_hint(int32_t hint) { return -2 - hint; }

}  // namespace mpmml::cuda
