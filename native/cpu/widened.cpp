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
  const int64_t items = items_of(view, problem_.batch);
  const int64_t count = saturating_product(items, view.rows * view.cols);
  copy.emplace(checked_size(element_bytes(problem_.operation.dtype), count));
  const Lines lines(view);
  with_semiring<OnInt32>(problem_.operation, [&](auto semiring) {
    using S = decltype(semiring);
    auto* to = static_cast<typename S::Element*>(copy->data());
    for (int64_t item = 0; item < items; ++item) {
      for (int64_t line = 0; line < lines.count; ++line) {
        const auto* from = static_cast<const int16_t*>(view.data) + item * view.batch_stride + line * lines.line_stride;
        for (int64_t index = 0; index < lines.length; ++index) *to++ = widened<S>(from[index * lines.element_stride]);
      }
    }
  });
  view = lines.copied_to(copy->data(), view, items);
}

}  // namespace mpmml::cpu
