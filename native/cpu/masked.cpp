#include "cpu/masked.h"

#include <algorithm>

#include "core/algebra/dispatch.h"
#include "core/problem/structured.h"
#include "cpu/loop.h"

namespace mpmml::cpu {

MaskedProblem::MaskedProblem(const Problem& problem) : problem_(problem) {
  mask(problem_.a, problem_.structure.a, a_);
  mask(problem_.b, problem_.structure.b, b_);
}

void MaskedProblem::mask(MatrixView& view, Band& band, std::optional<Workspace>& copy) const {
  if (band.is_all(view.rows, view.cols)) return;
  const int64_t items = items_of(view, problem_.batch);
  copy.emplace(checked_size(element_bytes(problem_.operation.dtype), saturating_product(items, view.rows * view.cols)));
  const Lines lines(view);
  const Band of_lines = lines.are_columns ? band.transposed() : band;
  with_semiring(problem_.operation, [&](auto semiring) {
    using S = decltype(semiring);
    using Element = typename S::Element;
    auto* to = static_cast<Element*>(copy->data());
    for (int64_t item = 0; item < items; ++item) {
      for (int64_t line = 0; line < lines.count; ++line, to += lines.length) {
        const auto* from = static_cast<const Element*>(view.data) + item * view.batch_stride + line * lines.line_stride;
        std::fill(to, to + lines.length, S::zero);
        const Span inside = span_of_row(of_lines, line, lines.length);
        for (int64_t index = inside.first; index < inside.end; ++index) to[index] = from[index * lines.element_stride];
      }
    }
  });
  view = lines.copied_to(copy->data(), view, items);
  band = {};
}

}  // namespace mpmml::cpu
