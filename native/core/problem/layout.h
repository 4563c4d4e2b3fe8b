// Memory layout of matrices: batches, submatrices, single elements, and contiguous lines.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/algebra/semiring.h"
#include "core/rounding.h"
#include "generated/semirings.h"

namespace mpmml {

/// Alignment in bytes of consecutive matrices in one memory.
constexpr int64_t kMatrixAlignment = 256;

/// Storage of an operand's elements: in the element type, or in a 16-bit type that represents it (StorageTypeOf).
enum class Storage : uint8_t { kElement, kNarrow };

class Memory;

/// A batch of matrices in memory. Strides count elements: element (b, i, j) is data[b·batch_stride + i·row_stride +
/// j·col_stride]. Strides are never negative. A batch stride of 0 means that all products of the batch share one
/// matrix.
template <class Pointer>
struct BasicMatrixView {
  Pointer data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t row_stride = 0;
  int64_t col_stride = 0;
  int64_t batch_stride = 0;
  Storage storage = Storage::kElement;
  Memory* memory = nullptr;  ///< device memory that contains the matrices (session.h); null: host memory of the caller
};
using MatrixView = BasicMatrixView<const void*>;
using MutableMatrixView = BasicMatrixView<void*>;

/// Returns a read-only view of the matrices.
inline MatrixView read_only(const MutableMatrixView& view) {
  return {view.data,       view.rows,         view.cols,    view.row_stride,
          view.col_stride, view.batch_stride, view.storage, view.memory};
}

constexpr int64_t stored_bytes(DataType dtype, Storage storage) {
  return storage == Storage::kNarrow ? 2 : element_bytes(dtype);
}

/// Returns the number of matrices in memory for a batch of products.
template <class Pointer>
constexpr int64_t items_of(const BasicMatrixView<Pointer>& view, int64_t batch) {
  return view.batch_stride == 0 && batch > 1 ? 1 : batch;
}

/// Returns `view` moved to element (item, row, col), with unchanged sizes. Null stays null.
template <class Pointer>
BasicMatrixView<Pointer> view_from(BasicMatrixView<Pointer> view, DataType dtype, int64_t item, int64_t row,
                                   int64_t col) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const char, char>;
  if (!view.data) return view;
  const int64_t elements = item * view.batch_stride + row * view.row_stride + col * view.col_stride;
  view.data = static_cast<Byte*>(view.data) + elements * stored_bytes(dtype, view.storage);
  return view;
}

/// Returns a view of the transposed matrices.
template <class Pointer>
BasicMatrixView<Pointer> transposed(const BasicMatrixView<Pointer>& view) {
  return {view.data,       view.cols,         view.rows,    view.col_stride,
          view.row_stride, view.batch_stride, view.storage, view.memory};
}

/// Returns a view of consecutive row-major matrices at `data`.
template <class Pointer>
BasicMatrixView<Pointer> row_major(Pointer data, int64_t rows, int64_t cols) {
  return {data, rows, cols, cols, 1, rows * cols};
}

/// Returns whether the matrices are row-major and consecutive.
template <class Pointer>
bool is_row_major(const BasicMatrixView<Pointer>& view, int64_t batch) {
  return (view.cols <= 1 || view.col_stride == 1) && (view.rows <= 1 || view.row_stride == view.cols) &&
         (batch <= 1 || view.batch_stride == view.rows * view.cols);
}

/// Calls `body` with S's zero in the storage type, and returns its result.
template <class S, class Body>
auto with_stored(Storage storage, Body&& body) {
  using Element = typename S::Element;
  if constexpr (has_narrow<Element>) {
    if (storage == Storage::kNarrow) return body(stored_zero<S, NarrowType<Element>>());
  }
  return body(stored_zero<S, Element>());
}

/// Returns element number `index` of the array `data` with this storage.
template <class S>
MPMML_HOST_DEVICE typename S::Element element_at(const void* data, Storage storage, int64_t index) {
  using Element = typename S::Element;
  if constexpr (has_narrow<Element>) {
    if (storage == Storage::kNarrow) return widened<S>(static_cast<const NarrowType<Element>*>(data)[index]);
  }
  return static_cast<const Element*>(data)[index];
}
/// Returns element (item, row, col) of matrices with any storage.
template <class S, class Pointer>
typename S::Element element_at(const BasicMatrixView<Pointer>& view, int64_t item, int64_t row, int64_t col) {
  const int64_t index = item * view.batch_stride + row * view.row_stride + col * view.col_stride;
  return element_at<S>(view.data, view.storage, index);
}

/// A matrix as lines: rows or columns, whichever have the smaller stride between elements.
struct Lines {
  bool are_columns;
  int64_t count, length;
  int64_t line_stride, element_stride;

  template <class Pointer>
  explicit Lines(const BasicMatrixView<Pointer>& view, bool may_be_columns = true)
      : are_columns(may_be_columns && view.row_stride < view.col_stride && view.rows > 1),
        count(are_columns ? view.cols : view.rows),
        length(are_columns ? view.rows : view.cols),
        line_stride(are_columns ? view.col_stride : view.row_stride),
        element_stride(are_columns ? view.row_stride : view.col_stride) {}

  /// Returns the view of a copy at `data` with consecutive lines of `items` matrices, in the storage of `view`.
  MatrixView copied_to(const void* data, const MatrixView& view, int64_t items) const {
    return {data,
            view.rows,
            view.cols,
            are_columns ? 1 : view.cols,
            are_columns ? view.rows : 1,
            items == 1 ? 0 : view.rows * view.cols,
            view.storage};
  }
};

}  // namespace mpmml
