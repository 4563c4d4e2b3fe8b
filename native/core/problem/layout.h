// Where elements are: batches of matrices in memory, parts of them, single elements, and contiguous lines.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/algebra/semiring.h"
#include "core/rounding.h"
#include "generated/semirings.h"

namespace mpmml {

/// In bytes, of matrices side by side in one memory.
constexpr int64_t kMatrixAlignment = 256;

/// How the elements of an operand are stored: as the element type, or as a type of 16 bits that stands for it (StorageTypeOf).
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
  Memory* memory = nullptr;  ///< of a device, in which the matrices stay (session.h); null: the caller's, on the host
};
using MatrixView = BasicMatrixView<const void*>;
using MutableMatrixView = BasicMatrixView<void*>;

/// The same matrices, read-only.
inline MatrixView read_only(const MutableMatrixView& view) {
  return {view.data,       view.rows,         view.cols,    view.row_stride,
          view.col_stride, view.batch_stride, view.storage, view.memory};
}

constexpr int64_t stored_bytes(DataType dtype, Storage storage) {
  return storage == Storage::kNarrow ? 2 : element_bytes(dtype);
}

/// How many matrices are in memory for a batch of products.
template <class Pointer>
constexpr int64_t items_of(const BasicMatrixView<Pointer>& view, int64_t batch) {
  return view.batch_stride == 0 && batch > 1 ? 1 : batch;
}

/// `view` from element (item, row, col) on, with the same sizes. Null stays null.
template <class Pointer>
BasicMatrixView<Pointer> view_from(BasicMatrixView<Pointer> view, DataType dtype, int64_t item, int64_t row,
                                   int64_t col) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const char, char>;
  if (!view.data) return view;
  const int64_t elements = item * view.batch_stride + row * view.row_stride + col * view.col_stride;
  view.data = static_cast<Byte*>(view.data) + elements * stored_bytes(dtype, view.storage);
  return view;
}

/// The same matrices, transposed.
template <class Pointer>
BasicMatrixView<Pointer> transposed(const BasicMatrixView<Pointer>& view) {
  return {view.data,       view.cols,         view.rows,    view.col_stride,
          view.row_stride, view.batch_stride, view.storage, view.memory};
}

/// Row-major matrices at `data`, one after the other.
template <class Pointer>
BasicMatrixView<Pointer> row_major(Pointer data, int64_t rows, int64_t cols) {
  return {data, rows, cols, cols, 1, rows * cols};
}

/// Whether the matrices are like that.
template <class Pointer>
bool is_row_major(const BasicMatrixView<Pointer>& view, int64_t batch) {
  return (view.cols <= 1 || view.col_stride == 1) && (view.rows <= 1 || view.row_stride == view.cols) &&
         (batch <= 1 || view.batch_stride == view.rows * view.cols);
}

/// Calls `body` with S's zero as it is stored, whose type is that of what is stored. Returns what it returns.
template <class S, class Body>
auto with_stored(Storage storage, Body&& body) {
  using Element = typename S::Element;
  if constexpr (has_narrow<Element>) {
    if (storage == Storage::kNarrow) return body(stored_zero<S, NarrowType<Element>>());
  }
  return body(stored_zero<S, Element>());
}

/// Element number `index` of those at `data`, however they are stored.
template <class S>
MPMML_HOST_DEVICE typename S::Element element_at(const void* data, Storage storage, int64_t index) {
  using Element = typename S::Element;
  if constexpr (has_narrow<Element>) {
    if (storage == Storage::kNarrow) return widened<S>(static_cast<const NarrowType<Element>*>(data)[index]);
  }
  return static_cast<const Element*>(data)[index];
}
/// Element (item, row, col), however it is stored.
template <class S, class Pointer>
typename S::Element element_at(const BasicMatrixView<Pointer>& view, int64_t item, int64_t row, int64_t col) {
  const int64_t index = item * view.batch_stride + row * view.row_stride + col * view.col_stride;
  return element_at<S>(view.data, view.storage, index);
}

/// A matrix as lines: rows or columns, whichever are closer together in memory.
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

  /// The view of a copy at `data` that holds the same lines of `items` matrices one after the other, stored in the same way.
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
