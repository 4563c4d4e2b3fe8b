#include "cpu/windowed.h"

#include <algorithm>

#include "core/problem/layout.h"
#include "core/problem/structured.h"
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
      is_b_(is_b),
      view_(is_b ? problem.b : problem.a),
      lanes_(is_b ? view_.cols : view_.rows),
      count_(ceil_div(problem.k(), int64_t{kernel.window})),
      items_(items_of(view_, problem.batch)),
      item_bytes_(saturating_product(round_up(lanes_, kLanesTogether),
                                     saturating_product(count_, kernel.window * kernel.operand_size))),
      band_(is_b ? problem.structure.b : problem.structure.a.transposed()),
      is_partial_(!band_.is_all(problem.k(), lanes_)),
      data_(checked_size(item_bytes_, items_)) {
  const int64_t work = saturating_product(items_, saturating_product(kWorkPerElement * lanes_, problem.k()));
  for_each_run(problem, count_ * items_, work, kWorkAtOnce, [&](int64_t first, int64_t end) {
    for (int64_t index = first; index < end; ++index) {
      PackRequest part = request(index / count_, index % count_);
      part.offset = offset;
      kernel.pack_windows(part);
    }
  });
}

PackRequest WindowedOperand::request(int64_t item, int64_t panel) const {
  const MatrixView first = view_from(view_, problem_.operation.dtype, item, 0, 0);
  const int64_t lane_stride = is_b_ ? view_.col_stride : view_.row_stride,
                k_stride = is_b_ ? view_.row_stride : view_.col_stride;
  PackRequest request{};
  request.packed = static_cast<char*>(data_.data()) + item * item_bytes_;
  request.source = {first.data, problem_.k(), lanes_, k_stride, lane_stride, view_.storage};
  request.first_panel = panel;
  request.end_panel = panel + 1;
  request.panels = count_;
  request.padded_k = round_up(lanes_, kLanesTogether);
  request.KC = kLanesTogether;
  request.band = band_;
  request.is_partial = is_partial_;
  return request;
}

const void* WindowedOperand::item(int64_t item) const {
  return static_cast<const char*>(data_.data()) + (items_ == 1 ? 0 : item) * item_bytes_;
}

}  // namespace mpmml::cpu
