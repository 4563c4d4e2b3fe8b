#include "core/destination.h"

#include <cstring>

#include "core/dispatch.h"
#include "core/structured.h"

namespace mpmml {

bool values_may_fail(const Operation& operation) { return overflow_fails(operation) || restricts_elements(operation); }

Destination::Destination(const Problem& problem, bool may_fail) : problem_(problem), view_(problem.c) {
  if (!writes_apart(problem, may_fail)) return;
  apart_.emplace(static_cast<size_t>(problem.outputs() * element_bytes(problem.operation.dtype)));
  view_ = row_major(apart_->data(), problem.m(), problem.n());
}

void Destination::commit(const ForRows& for_rows) const {
  if (!apart_) return;
  for_rows(problem_.batch * problem_.m(),
           [this](int64_t first, int64_t end) { copy_rows(problem_, apart_->data(), first, end); });
}

void copy_rows(const Problem& problem, const void* dense, int64_t first, int64_t end) {
  with_semiring(problem.operation, [&](auto semiring) {
    using Element = typename decltype(semiring)::Element;
    const MutableMatrixView& c = problem.c;
    const int64_t m = problem.m(), n = problem.n();
    for (int64_t row = first; row < end; ++row) {
      const Span inside = span_of_row(problem.structure.c, row % m, n);
      if (inside.is_empty()) continue;
      const auto* from = static_cast<const Element*>(dense) + row * n;
      auto* to = static_cast<Element*>(c.data) + row / m * c.batch_stride + row % m * c.row_stride;
      if (c.col_stride == 1) {
        std::memcpy(to + inside.first, from + inside.first, (inside.end - inside.first) * sizeof(Element));
      } else {
        for (int64_t col = inside.first; col < inside.end; ++col) to[col * c.col_stride] = from[col];
      }
    }
  });
}

}  // namespace mpmml
