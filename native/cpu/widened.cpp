#include "cpu/widened.h"

#include "core/algebra/dispatch.h"
#include "core/problem/structured.h"
#include "cpu/loop.h"

namespace mpmml::cpu {

WidenedProblem::WidenedProblem(const Problem& problem) : problem_(problem) {
  widen(problem_.a, problem_.structure.a, a_);
  widen(problem_.b, problem_.structure.b, b_);
}

void WidenedProblem::widen(MatrixView& view, const Band& band, std::optional<Workspace>& copy) const {
  if (view.storage == Storage::kElement) return;
  const int64_t items = items_of(view, problem_.batch);
  const int64_t count = saturating_product(items, view.rows * view.cols);
  copy.emplace(checked_size(element_bytes(problem_.operation.dtype), count));
  const Lines lines(view);
  const Band of_lines = lines.are_columns ? band.transposed() : band;
  with_semiring<HasNarrow>(problem_.operation, [&](auto semiring) {
    using S = decltype(semiring);
    using Element = typename S::Element;
    auto* to = static_cast<Element*>(copy->data());
    for (int64_t item = 0; item < items; ++item) {
      for (int64_t line = 0; line < lines.count; ++line) {
        const auto* from =
            static_cast<const NarrowType<Element>*>(view.data) + item * view.batch_stride + line * lines.line_stride;
        const Span inside = span_of_row(of_lines, line, lines.length);
        for (int64_t index = inside.first; index < inside.end; ++index) {
          to[index] = widened<S>(from[index * lines.element_stride]);
        }
        to += lines.length;
      }
    }
  });
  view = lines.copied_to(copy->data(), view, items);
  view.storage = Storage::kElement;
}

}  // namespace mpmml::cpu
