#include "cpu/operand.h"

#include <algorithm>
#include <mutex>

#include "core/dispatch.h"
#include "cpu/loop.h"

namespace mpmml::cpu {
namespace {

/// Packing an element takes as long as so many k-steps.
constexpr int64_t kWorkPerElement = 8;
/// What one thread packs at a time.
constexpr int64_t kWorkAtOnce = kWorkPerElement << 17;

}  // namespace

PackedOperand::PackedOperand(const Problem& problem, const PackedKernel& kernel, bool is_b, int64_t padded_k,
                             int64_t KC)
    : problem_(problem),
      kernel_(kernel),
      is_b_(is_b),
      view_(is_b ? problem.b : problem.a),
      padded_k_(padded_k),
      KC_(KC),
      width_(is_b ? kernel.NR : kernel.MR),
      lanes_(is_b ? view_.cols : view_.rows),
      items_(view_.batch_stride == 0 ? 1 : problem.batch),
      panels_(ceil_div(lanes_, width_)),
      item_bytes_(saturating_product(panels_, saturating_product(padded_k, width_ * kernel.operand_size))),
      data_(checked_size(item_bytes_, items_)) {}

PackRequest PackedOperand::request(int64_t item) const {
  const char* first = static_cast<const char*>(view_.data) + item * view_.batch_stride * element_bytes(problem_.dtype);
  PackRequest request{};
  request.source = {first, lanes_, problem_.k(), is_b_ ? view_.col_stride : view_.row_stride,
                    is_b_ ? view_.row_stride : view_.col_stride};
  request.end_panel = panels_;
  request.packed = static_cast<char*>(data_.data()) + item * item_bytes_;
  request.panels = panels_;
  request.padded_k = padded_k_;
  request.KC = KC_;
  request.offsets = offsets(item, 0);
  return request;
}

void PackedOperand::set_offset(int32_t offset) {
  auto* offsets = static_cast<int32_t*>(offsets_.emplace(checked_size(lanes_, sizeof(int32_t))).data());
  std::fill_n(offsets, lanes_, offset);
}

void PackedOperand::find_offsets() {
  const int64_t count = lanes_ * items_;
  auto* offsets = static_cast<int32_t*>(offsets_.emplace(checked_size(count, sizeof(int32_t))).data());
  auto* spans = static_cast<int64_t*>(spans_.emplace(checked_size(count, sizeof(int64_t))).data());
  const Workspace ranges_of_lanes(checked_size(count, sizeof(LaneRange)));
  auto* ranges = static_cast<LaneRange*>(ranges_of_lanes.data());
  for_each_run(problem_, count, saturating_product(count, kWorkPerElement * problem_.k()), kWorkAtOnce,
               [&](int64_t first, int64_t end) {
                 while (first < end) {
                   const int64_t item = first / lanes_;
                   const int64_t lane = first - item * lanes_;
                   const int64_t end_lane = std::min(lanes_, lane + end - first);
                   kernel_.find_ranges(request(item).source, lane, end_lane, ranges + item * lanes_);
                   first += end_lane - lane;
                 }
               });
  with_integer_semiring(problem_.semiring, problem_.dtype, [&](auto semiring) {
    using S = decltype(semiring);
    for (int64_t lane = 0; lane < count; ++lane) {
      const LaneRange range = ranges[lane];
      const bool has_finite = range.minimum <= range.maximum;
      offsets[lane] = has_finite ? static_cast<int32_t>(S::combine(range.minimum, range.maximum)) : 0;
      // A lane without finite values loses nothing, whatever the other's span.
      spans[lane] = has_finite ? range.maximum - range.minimum : INT64_MIN / 2;
    }
  });
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
                   const Occurring occurring = (is_b_ ? kernel_.pack_b : kernel_.pack_a)(part);
                   seen.merge({occurring.minimum, occurring.maximum, occurring.has_zero});
                   first += part.end_panel - part.first_panel;
                 }
                 std::lock_guard<std::mutex> lock(mutex);
                 range.merge(seen);
               });
  return range;
}

void PackedOperand::fill_border(RangePath path) {
  if (padded_k_ == problem_.k()) return;
  for (int64_t item = 0; item < items_; ++item) {
    (is_b_ ? kernel_.fill_border_b : kernel_.fill_border_a)(request(item), path);
  }
}

const void* PackedOperand::panel(int64_t item, int64_t k, int64_t lane) const {
  const int64_t steps = std::min(KC_, padded_k_ - k);
  return static_cast<const char*>(data_.data()) + own(item) * item_bytes_ +
         (k * panels_ * width_ + lane * steps) * kernel_.operand_size;
}

const int32_t* PackedOperand::offsets(int64_t item, int64_t lane) const {
  if (!offsets_) return nullptr;
  return static_cast<const int32_t*>(offsets_->data()) + (spans_ ? own(item) * lanes_ : 0) + lane;
}

const int64_t* PackedOperand::spans(int64_t item, int64_t lane) const {
  return spans_ ? static_cast<const int64_t*>(spans_->data()) + own(item) * lanes_ + lane : nullptr;
}

}  // namespace mpmml::cpu
