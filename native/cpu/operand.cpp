#include "cpu/operand.h"

#include <algorithm>
#include <mutex>

#include "core/problem/structured.h"
#include "cpu/loop.h"

namespace mpmml::cpu {
namespace {

/// Packing an element takes as long as this many k-steps.
constexpr int64_t kWorkPerElement = 8;
/// What one thread packs at a time.
constexpr int64_t kWorkAtOnce = kWorkPerElement << 17;

}  // namespace

PackedOperand::PackedOperand(const Problem& problem, const PackedKernel& kernel, bool is_b, int64_t padded_k,
                             int64_t KC, int64_t granule)
    : problem_(problem),
      kernel_(kernel),
      is_b_(is_b),
      view_(is_b ? problem.b : problem.a),
      padded_k_(padded_k),
      KC_(KC),
      granule_(granule),
      band_(is_b ? problem.structure.b.transposed() : problem.structure.a),
      is_partial_(!band_.is_all(is_b ? view_.cols : view_.rows, problem.k())),
      width_(is_b ? kernel.NR : kernel.MR),
      size_(is_b ? kernel.operand_size : kernel.a_size),
      lanes_(is_b ? view_.cols : view_.rows),
      items_(items_of(view_, problem.batch)),
      panels_(ceil_div(lanes_, width_)),
      item_bytes_(saturating_product(panels_, saturating_product(padded_k, width_ * size_))),
      data_(checked_size(item_bytes_, items_)) {}

PackRequest PackedOperand::request(int64_t item) const {
  const MatrixView first = view_from(view_, problem_.operation.dtype, item, 0, 0);
  PackRequest request{};
  request.source = {first.data,
                    lanes_,
                    problem_.k(),
                    is_b_ ? view_.col_stride : view_.row_stride,
                    is_b_ ? view_.row_stride : view_.col_stride,
                    view_.storage};
  request.end_panel = panels_;
  request.packed = static_cast<char*>(data_.data()) + item * item_bytes_;
  request.panels = panels_;
  request.padded_k = padded_k_;
  request.KC = KC_;
  request.offset = offset_;
  request.band = band_;
  request.is_partial = is_partial_;
  request.granule = granule_;
  return request;
}

ValueRange PackedOperand::pack() {
  const int64_t count = panels_ * items_;
  ValueRange range;
  std::mutex mutex;
  for_each_run(problem_, count, saturating_product(count, kWorkPerElement * width_ * padded_k_), kWorkAtOnce,
               [&](int64_t first, int64_t end) {
                 ValueRange seen;
                 while (first < end) {
                   PackRequest part = request(first / panels_);
                   part.first_panel = first % panels_;
                   part.end_panel = std::min(panels_, part.first_panel + end - first);
                   seen.merge((is_b_ ? kernel_.pack_b : kernel_.pack_a)(part));
                   first += part.end_panel - part.first_panel;
                 }
                 std::lock_guard<std::mutex> lock(mutex);
                 range.merge(seen);
               });
  if (is_partial_) range.has_zero = true;
  return range;
}

void PackedOperand::fill_border(RangePath path) {
  if (padded_k_ * kernel_.steps_per_operand == problem_.k()) return;
  for (int64_t item = 0; item < items_; ++item) {
    (is_b_ ? kernel_.fill_border_b : kernel_.fill_border_a)(request(item), path);
  }
}

const void* PackedOperand::panel(int64_t item, int64_t k, int64_t lane) const {
  const int64_t steps = std::min(KC_, padded_k_ - k);
  return static_cast<const char*>(data_.data()) + own(item) * item_bytes_ +
         (k * panels_ * width_ + lane * steps) * size_;
}

}  // namespace mpmml::cpu
