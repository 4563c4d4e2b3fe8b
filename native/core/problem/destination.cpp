#include "core/problem/destination.h"

#include <cstring>

#include "core/problem/structured.h"
#include "core/problem/with_size.h"

namespace mpmml {

Destination::Destination(const ResultTarget& target, int64_t batch, DataType dtype, const Band& band)
    : ResultTarget(target), batch_(batch), dtype_(dtype), band_(band) {
  if (is_separate()) place(memory_.emplace(bytes()).data());
}

void Destination::commit(const ForRows& for_rows) const {
  ResultTarget::commit([&](const MatrixView& from, const MutableMatrixView& to) {
    for_rows(batch_ * to.rows,
             [&](int64_t first, int64_t end) { copy_rows(to, band_, dtype_, from.data, first, end); });
  });
}

void copy_rows(const MutableMatrixView& c, const Band& band, DataType dtype, const void* dense, int64_t first,
               int64_t end) {
  const int64_t m = c.rows, n = c.cols, bytes = element_bytes(dtype);
  for (int64_t row = first; row < end; ++row) {
    const Span inside = span_of_row(band, row % m, n);
    if (inside.is_empty()) continue;
    const char* from = static_cast<const char*>(dense) + (row * n + inside.first) * bytes;
    const int64_t place = row / m * c.batch_stride + row % m * c.row_stride + inside.first * c.col_stride;
    char* const target = static_cast<char*>(c.data) + place * bytes;
    if (c.col_stride == 1) {
      std::memcpy(target, from, static_cast<size_t>(inside.size() * bytes));
      continue;
    }
    with_size(bytes, [&](auto element) {
      using Element = decltype(element);
      for (int64_t col = 0; col < inside.size(); ++col) {
        reinterpret_cast<Element*>(target)[col * c.col_stride] = reinterpret_cast<const Element*>(from)[col];
      }
    });
  }
}

}  // namespace mpmml
