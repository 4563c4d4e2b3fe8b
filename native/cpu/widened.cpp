#include "cpu/widened.h"

#include "core/dispatch.h"
#include "cpu/loop.h"

namespace mpmml::cpu {

WidenedProblem::WidenedProblem(const Problem& problem) : problem_(problem) {
  widen(problem_.a, a_);
  widen(problem_.b, b_);
}

void WidenedProblem::widen(MatrixView& view, std::optional<Workspace>& copy) const {
  if (view.storage == Storage::kElement) return;
  const int64_t items = view.batch_stride == 0 ? 1 : problem_.batch;
  const int64_t count = saturating_product(items, view.rows * view.cols);
  copy.emplace(checked_size(element_bytes(problem_.dtype), count));
  // The copy lies along the same dimension.
  const bool by_columns = view.row_stride < view.col_stride;
  MatrixView dense{copy->data(),
                   view.rows,
                   view.cols,
                   by_columns ? 1 : view.cols,
                   by_columns ? view.rows : 1,
                   items == 1 ? 0 : view.rows * view.cols};
  const int64_t lines = by_columns ? view.cols : view.rows, length = by_columns ? view.rows : view.cols;
  const int64_t line_stride = by_columns ? view.col_stride : view.row_stride;
  const int64_t stride = by_columns ? view.row_stride : view.col_stride;
  with_integer_semiring(problem_.semiring, problem_.dtype, [&](auto semiring) {
    using S = decltype(semiring);
    auto* to = static_cast<typename S::Element*>(copy->data());
    for (int64_t item = 0; item < items; ++item) {
      for (int64_t line = 0; line < lines; ++line) {
        const auto* from = static_cast<const int16_t*>(view.data) + item * view.batch_stride + line * line_stride;
        for (int64_t index = 0; index < length; ++index) *to++ = widened<S>(from[index * stride]);
      }
    }
  });
  view = dense;
}

}  // namespace mpmml::cpu
