#include "cuda/runtime/session_source.h"

#include "core/algebra/dispatch.h"
#include "core/host/clock.h"
#include "core/problem/scan.h"
#include "cuda/runtime/band_copy.h"
#include "cuda/runtime/elementwise.h"

namespace mpmml::cuda {

Source Sources::find(const MatrixView& view, const Band& band) {
  Source source;
  source.view = view;
  source.band = band;
  if (view.memory) {
    source.memory = &resident(view.memory);
    // If there is a band, these are bounds.
    source.facts = source.memory->facts();
    source.is_exact = source.memory->is_exact() && !source.is_banded();
    include_outside(source);
    return source;
  }
  const auto start = Clock::now();
  const HostLayout host = host_layout(view, problem_.batch, dtype(), true);
  source.copied = device_.workspace(host.bytes());
  device_.upload(host, source.copied.get(), problem_.cancelled);
  source.view = Lines(view).copied_to(source.copied.get(), view, host.items);
  clear_outside(problem_.operation, host.items, source.view, band, device_.stream());
  source.band = {};
  copying_ += milliseconds_since(start);
  source.facts = unbounded();
  source.is_exact = false;
  if (must_scan(problem_.operation) && !problem_.known) scan(source, host.elements());
  return source;
}

ValueRange Sources::range(const Source& source) const {
  if (problem_.known) {
    ValueRange known = problem_.known_operands && source.is_operand ? *problem_.known_operands : *problem_.known;
    known.has_zero = known.has_zero || source.is_banded();
    return known;
  }
  ValueRange range = range_of(problem_.operation, source.facts, source.view.storage);
  range.levels = source.levels;
  return range;
}

/// What is outside the band is zero.
void Sources::include_outside(Source& source) const {
  if (!source.is_banded()) return;
  source.facts.merge(
      with_semiring(problem_.operation, [](auto semiring) { return facts_of_value(decltype(semiring)::zero); }));
}

void Sources::scan(Source& source, int64_t elements) {
  if (source.is_exact) return;
  source.is_exact = true;
  if (source.is_banded()) {
    source.facts = device_.scan_inside(dtype(), items_of(source.view, problem_.batch), source.view, source.band);
    include_outside(source);
    return;
  }
  if (!source.memory) {
    source.facts = device_.scan(dtype(), source.view.storage, source.view.data, elements);
    return;
  }
  source.memory->found(device_.scan(dtype(), source.view.storage, *source.memory));
  source.facts = source.memory->facts();
}

void Sources::require_elements(Source& source, const char* name) {
  if (!source.view.data || !range(source).has_invalid_element) return;
  scan(source);
  if (!range(source).has_invalid_element) return;
  const SessionDevice::HostCopy copy = device_.fetch(dtype(), problem_.batch, cleared(source));
  mpmml::require_elements(problem_.operation, copy.view, problem_.batch, name);
  // They are elsewhere in the memory.
  source.facts.has_negative = false;
}

const MatrixView& Sources::cleared(Source& source) {
  if (!source.is_banded()) return source.view;
  if (source.cleared.data) return source.cleared;
  const MatrixView& view = source.view;
  const int64_t items = items_of(view, problem_.batch);
  source.cleared_buffer = device_.workspace(items * view.rows * view.cols * stored_bytes(dtype(), view.storage));
  source.cleared = Lines(view).copied_to(source.cleared_buffer.get(), view, items);
  const MutableMatrixView to{
      source.cleared_buffer.get(), view.rows, view.cols, source.cleared.row_stride, source.cleared.col_stride,
      source.cleared.batch_stride};
  copy_inside(dtype(), items, view, source.band, to, device_.stream());
  clear_outside(problem_.operation, items, source.cleared, source.band, device_.stream());
  return source.cleared;
}

}  // namespace mpmml::cuda
