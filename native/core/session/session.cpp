#include "core/session/session.h"

#include <algorithm>

namespace mpmml {
namespace {

template <class Element>
std::optional<int64_t> find_nan_in(const void* data, int64_t count) {
  const auto* const elements = static_cast<const Element*>(data);
  const auto* const found = std::find_if(elements, elements + count, [](Element x) { return x != x; });
  if (found == elements + count) return std::nullopt;
  return found - elements;
}

}  // namespace

/// Copies the matrices to the host, a limited number of rows at a time.
std::optional<int64_t> Session::find_nan(DataType dtype, int64_t batch, const MatrixView& matrix) {
  if (dtype != DataType::kFloat32 && dtype != DataType::kFloat64) return std::nullopt;
  constexpr int64_t kElementsAtOnce = int64_t{1} << 22;
  const int64_t cols = matrix.cols, bytes = element_bytes(dtype);
  const int64_t most = std::clamp<int64_t>(kElementsAtOnce / std::max<int64_t>(cols, 1), 1, matrix.rows);
  std::vector<char> copy(static_cast<size_t>(most * cols * bytes));
  for (int64_t item = 0; item < batch; ++item) {
    for (int64_t row = 0; row < matrix.rows; row += most) {
      MatrixView from = view_from(matrix, dtype, item, row, 0);
      from.rows = std::min(most, matrix.rows - row);
      MutableMatrixView to = row_major<void*>(copy.data(), from.rows, cols);
      download(dtype, 1, from, to, nullptr)->finish();
      const std::optional<int64_t> found = dtype == DataType::kFloat32
                                               ? find_nan_in<float>(copy.data(), from.rows * cols)
                                               : find_nan_in<double>(copy.data(), from.rows * cols);
      if (found) return (item * matrix.rows + row) * cols + *found;
    }
  }
  return std::nullopt;
}

}  // namespace mpmml
