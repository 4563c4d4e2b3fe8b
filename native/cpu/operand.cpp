#include "cpu/operand.h"

#include <algorithm>
#include <mutex>

#include "core/problem/structured.h"
#include "cpu/loop.h"

namespace mpmml::cpu {

PackedForm panel_form(const Problem& problem, const PackedKernel& kernel, bool is_b, int64_t padded_k, int64_t KC,
                      int64_t k_alignment) {
  const bool has_border = padded_k * kernel.steps_per_operand != problem.k();
  if (is_b) {
    return {kernel.pack_b, has_border ? kernel.fill_border_b : nullptr,
            kernel.NR,     kernel.operand_size,
            padded_k,      KC,
            k_alignment,   false};
  }
  return {
      kernel.pack_a, has_border ? kernel.fill_border_a : nullptr, kernel.MR, kernel.a_size, padded_k, KC, k_alignment,
      false};
}

PackedForm window_form(const Problem& problem, const PackedKernel& kernel, bool is_b) {
  const int64_t lanes = round_up(is_b ? problem.n() : problem.m(), kLanesTogether);
  return {kernel.pack_windows, nullptr, kernel.window, kernel.operand_size, lanes, kLanesTogether, 0, true};
}

PackedOperand::PackedOperand(const Problem& problem, bool is_b, const PackedForm& form)
    : problem_(problem),
      form_(form),
      view_(is_b == form.is_across ? (is_b ? problem.b : problem.a) : transposed(is_b ? problem.b : problem.a)),
      band_(is_b == form.is_across ? (is_b ? problem.structure.b : problem.structure.a)
                                   : (is_b ? problem.structure.b : problem.structure.a).transposed()),
      is_partial_(!band_.is_all(view_.rows, view_.cols)),
      items_(items_of(view_, problem.batch)),
      panels_(ceil_div(view_.rows, form.width)),
      item_bytes_(saturating_product(panels_, saturating_product(form.padded_k, form.width * form.size))),
      data_(checked_size(item_bytes_, items_)) {}

PackRequest PackedOperand::request(int64_t item) const {
  PackRequest request{};
  request.source = {view_from(view_, problem_.operation.dtype, item, 0, 0).data,
                    view_.rows,
                    view_.cols,
                    view_.row_stride,
                    view_.col_stride,
                    view_.storage};
  request.end_panel = panels_;
  request.packed = static_cast<char*>(data_.data()) + item * item_bytes_;
  request.panels = panels_;
  request.padded_k = form_.padded_k;
  request.KC = form_.KC;
  request.offset = offset_;
  request.band = band_;
  request.is_partial = is_partial_;
  request.k_alignment = form_.k_alignment;
  return request;
}

ValueRange PackedOperand::pack(int64_t elements_of_operand) {
  const int64_t elements = saturating_product(form_.width * form_.padded_k, elements_of_operand);
  ValueRange range;
  std::mutex mutex;
  for_each_run_of_elements(problem_, panels_ * items_, elements, [&](int64_t first, int64_t end) {
    ValueRange seen;
    while (first < end) {
      PackRequest part = request(first / panels_);
      part.first_panel = first % panels_;
      part.end_panel = std::min(panels_, part.first_panel + end - first);
      seen.merge(form_.pack(part));
      first += part.end_panel - part.first_panel;
    }
    std::lock_guard<std::mutex> lock(mutex);
    range.merge(seen);
  });
  if (is_partial_) range.has_zero = true;
  return range;
}

void PackedOperand::fill_border(ArithmeticKind path) {
  for (int64_t item = 0; form_.fill_border && item < items_; ++item) form_.fill_border(request(item), path);
}

const char* PackedOperand::item(int64_t item) const {
  // An operand that the whole batch shares is packed once.
  return static_cast<const char*>(data_.data()) + (items_ == 1 ? 0 : item) * item_bytes_;
}

const void* PackedOperand::panel(int64_t item, int64_t k, int64_t lane) const {
  const int64_t steps = std::min(form_.KC, form_.padded_k - k);
  return this->item(item) + (k * panels_ * form_.width + lane * steps) * form_.size;
}

}  // namespace mpmml::cpu
