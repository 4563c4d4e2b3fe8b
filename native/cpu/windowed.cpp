#include "cpu/windowed.h"

#include <algorithm>

#include "core/layout.h"
#include "cpu/loop.h"

namespace mpmml::cpu {
namespace {

/// Packing an element takes as long as this many k-steps.
constexpr int64_t kWorkPerElement = 8;
/// What one thread packs at a time.
constexpr int64_t kWorkAtOnce = kWorkPerElement << 17;

}  // namespace

WindowedOperand::WindowedOperand(const Problem& problem, const PackedKernel& kernel, bool is_b, int32_t offset)
    : problem_(problem),
      kernel_(kernel),
      is_b_(is_b),
      view_(is_b ? problem.b : problem.a),
      lanes_(is_b ? view_.cols : view_.rows),
      count_(ceil_div(problem.k(), int64_t{kernel.window} * kernel.steps_per_operand)),
      items_(items_of(view_, problem.batch)),
      item_bytes_(saturating_product(lanes_, saturating_product(count_, kernel.window * kernel.operand_size))),
      data_(checked_size(item_bytes_, items_)) {
  const bool by_lanes = kernel.steps_per_operand > 1;
  const int64_t panels = by_lanes ? lanes_ : count_;
  const int64_t work = saturating_product(items_, saturating_product(kWorkPerElement * lanes_, problem.k()));
  for_each_run(problem, panels * items_, work, kWorkAtOnce, [&](int64_t first, int64_t end) {
    while (first < end) {
      PackRequest part = request(first / panels, offset);
      part.first_panel = first % panels;
      part.end_panel = std::min(panels, part.first_panel + end - first);
      kernel.pack_windows(part);
      first += part.end_panel - part.first_panel;
    }
  });
}

PackRequest WindowedOperand::request(int64_t item, int32_t offset) const {
  const MatrixView first = view_from(view_, problem_.operation.dtype, item, 0, 0);
  const int64_t lane_stride = is_b_ ? view_.col_stride : view_.row_stride,
                k_stride = is_b_ ? view_.row_stride : view_.col_stride;
  PackRequest request{};
  request.packed = static_cast<char*>(data_.data()) + item * item_bytes_;
  request.offset = offset;
  if (kernel_.steps_per_operand > 1) {
    request.source = {first.data, lanes_, problem_.k(), lane_stride, k_stride};
    request.panels = lanes_;
    request.padded_k = count_ * kernel_.window;
    request.KC = kernel_.window;
  } else {
    request.source = {first.data, problem_.k(), lanes_, k_stride, lane_stride};
    request.panels = count_;
    request.padded_k = lanes_;
    request.KC = lanes_;
  }
  return request;
}

const void* WindowedOperand::window(int64_t item, int64_t lane) const {
  const int64_t own = items_ == 1 ? 0 : item;
  return static_cast<const char*>(data_.data()) + own * item_bytes_ + lane * kernel_.window * kernel_.operand_size;
}

}  // namespace mpmml::cpu
