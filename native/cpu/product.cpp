#include "cpu/product.h"

#include <algorithm>

#include "core/algebra/arithmetic.h"
#include "core/algebra/dispatch.h"
#include "core/problem/scan.h"
#include "core/problem/structured.h"
#include "cpu/loop.h"
#include "cpu/results.h"
#include "cpu/slots.h"

namespace mpmml::cpu {
PackedProduct::PackedProduct(const Problem& problem, const PackedKernel& kernel, const Ranges& ranges,
                             ArithmeticKind path)
    : problem_(problem),
      kernel_(kernel),
      is_structured_(is_structured(problem)),
      padded_k_(round_up(ceil_div(problem.k(), kernel.steps_per_operand), kernel.k_multiple)),
      blocking_(choose_blocking(kernel, problem.m(), problem.n(), padded_k_, problem.batch, thread_count(),
                                problem.witness.data != nullptr)),
      blocks_m_(ceil_div(problem.m(), blocking_.MC)),
      blocks_n_(ceil_div(problem.n(), blocking_.NC)),
      a_(problem, false, panel_form(problem, kernel, false, padded_k_, blocking_.KC, granule())),
      b_(problem, true, panel_form(problem, kernel, true, padded_k_, blocking_.KC, granule())) {
  if (kernel.takes_offsets) {
    with_semiring<CanOverflow>(problem.operation, [&](auto semiring) {
      using S = decltype(semiring);
      const auto set = [&](const auto& sums) {
        a_.set_offset(sums.offset_a);
        b_.set_offset(sums.offset_b);
      };
      if (Byte<S>::paths.has(path)) {
        set(Byte<S>::for_operands(path, ranges.a, ranges.b));
      } else {
        set(Half<S>::for_operands(path, ranges.a, ranges.b));
      }
    });
  }
  ranges_ = {a_.pack(), b_.pack()};
}

void PackedProduct::pack_windows() {
  const auto pack = [&](std::optional<PackedOperand>& windows, bool is_b, int32_t offset) {
    windows.emplace(problem_, is_b, window_form(problem_, kernel_, is_b)).set_offset(offset);
    windows->pack();
  };
  pack(windows_a_, false, a_.offset());
  pack(windows_b_, true, b_.offset());
}

int64_t PackedProduct::multiply(ArithmeticKind path, const MutableMatrixView& c) {
  a_.fill_border(path);
  b_.fill_border(path);
  const int64_t bytes = blocking_.MC * blocking_.NC * kernel_.accumulator_size;
  const bool keeps = blocking_.KC < padded_k_ || (problem_.witness.data && blocking_.stretch < padded_k_);
  std::optional<Slots> accumulators;
  if (keeps) accumulators.emplace(problem_.witness.data ? 2 * bytes : bytes, thread_count());
  if (problem_.witness.data) pack_windows();
  // Steps of one task.
  constexpr int64_t kStepsAtOnce = 1 << 20;
  FirstIndex overflow;
  for_each_run(problem_, blocks_m_ * blocks_n_ * problem_.batch, work(), kStepsAtOnce, [&](int64_t first, int64_t end) {
    BlockRequest request{};
    request.path = path;
    std::optional<Slots::Slot> slot;
    if (keeps) {
      request.accumulators = slot.emplace(*accumulators).data();
      if (windows_a_) request.windows.notes = static_cast<char*>(request.accumulators) + bytes;
    }
    for (int64_t index = first; index < end; ++index) overflow.report(multiply_block(index, c, request));
  });
  return overflow.value();
}

int64_t PackedProduct::work() const {
  if (!is_structured_) return saturating_product(problem_.outputs(), padded_k_);
  const double steps = steps_of(problem_) / kernel_.steps_per_operand;
  return static_cast<int64_t>(std::min(steps, 0x1p62));
}

Span PackedProduct::steps_of_block(Span rows, Span cols) const {
  if (!is_structured_) return {0, padded_k_};
  const int64_t KC = blocking_.KC;
  const Span steps = problem_.structure.steps(rows, cols, problem_.k());
  if (steps.is_empty()) return {0, std::min(KC, padded_k_)};
  const int64_t each = kernel_.steps_per_operand;
  return {steps.first / each / KC * KC, std::min(round_up(ceil_div(steps.end, each), KC), padded_k_)};
}

int64_t PackedProduct::multiply_block(int64_t index, const MutableMatrixView& c, BlockRequest& request) const {
  const int64_t blocks = blocks_m_ * blocks_n_;
  const int64_t batch = index / blocks;
  // Consecutive blocks share columns of B, so threads that run at the same time do too.
  const int64_t row = index % blocks % blocks_m_ * blocking_.MC;
  const int64_t col = index % blocks / blocks_m_ * blocking_.NC;
  request.rows = std::min(blocking_.MC, problem_.m() - row);
  request.cols = std::min(blocking_.NC, problem_.n() - col);
  const Span rows{row, row + request.rows}, cols{col, col + request.cols};
  const auto count = [&](int64_t steps) {
    const double share = static_cast<double>(steps) / static_cast<double>(padded_k_);
    problem_.count_steps(static_cast<double>(request.rows * request.cols), share);
  };
  if (is_structured_ && !problem_.structure.c.has_some(rows, cols)) {
    count(padded_k_);
    return kNoOverflow;
  }
  const Span slabs = steps_of_block(rows, cols);
  request.is_structured = is_structured_;
  request.structure = problem_.structure.from(row, col);
  request.k = problem_.k();
  request.granule = granule();
  request.results = results_from(problem_, c, batch, row, col);
  request.results.offset_a = a_.offset();
  request.results.offset_b = b_.offset();
  if (windows_a_) {
    request.windows.a = windows_a_->item(batch);
    request.windows.b = windows_b_->item(batch);
    request.windows.row = row;
    request.windows.col = col;
    request.windows.count = windows_a_->panels();
    request.windows.are_near = blocking_.windows_are_near;
    request.windows.of_stretch = blocking_.stretch / kernel_.window;
  }
  int64_t overflow = kNoOverflow;
  for (int64_t k = slabs.first; k < slabs.end; k += blocking_.KC) {
    if (k > slabs.first) check_cancelled(problem_);
    request.a = a_.panel(batch, k, row);
    request.b = b_.panel(batch, k, col);
    request.steps = std::min(blocking_.KC, padded_k_ - k);
    if (windows_a_) request.stretch = k / blocking_.stretch;
    request.starts = k == slabs.first;
    request.ends = k + request.steps == slabs.end;
    request.first_step = k;
    overflow = std::min(overflow, kernel_.multiply(request));
    count(request.steps);
  }
  if (const int64_t skipped = padded_k_ - (slabs.end - slabs.first)) count(skipped);
  return overflow;
}

int64_t multiply_rows(const Problem& problem, const RowsKernel& kernel, ArithmeticKind path,
                      const MutableMatrixView& c) {
  constexpr int64_t steps_at_once = 1 << 16;
  const int64_t work = saturating_product(problem.outputs(), problem.k());
  FirstIndex overflow;
  for_each_run(problem, problem.batch * problem.m(), work, steps_at_once, [&](int64_t first, int64_t end) {
    for (int64_t row = first; row < end; ++row) {
      const int64_t batch = row / problem.m();
      const int64_t row_of_item = row - batch * problem.m();
      overflow.report(kernel.multiply(problem, path, c, batch, row_of_item, row_of_item + 1));
      problem.count_steps(static_cast<double>(problem.n()));
    }
  });
  return overflow.value();
}

Ranges scan(const Problem& problem) {
  if (!can_overflow(problem.operation) && !restricts_elements(problem.operation)) return {};
  const auto scan_one = [&](const MatrixView& view, const Band& band) {
    return scan_matrices(problem.operation, view, problem.batch, band, scan_runs_of(problem));
  };
  return {scan_one(problem.a, problem.structure.a), scan_one(problem.b, problem.structure.b)};
}

Ranges sample(const Problem& problem) {
  constexpr uint64_t kSamples = 64, kGoldenRatio = 0x9e3779b97f4a7c15;
  return with_semiring<CanOverflow>(problem.operation, [&](auto semiring) {
    using S = decltype(semiring);
    const auto sample_one = [&](const MatrixView& view, const Band& band) {
      const auto rows = static_cast<uint64_t>(items_of(view, problem.batch) * view.rows);
      ValueRange range;
      range.has_zero = !band.is_all(view.rows, view.cols);
      for (uint64_t index = 0; index < kSamples; ++index) {
        // Multiples of the golden ratio spread evenly.
        const uint64_t mixed = index * kGoldenRatio;
        const auto row = static_cast<int64_t>((mixed >> 32) % rows), item = row / view.rows;
        const Span inside = span_of_row(band, row % view.rows, view.cols);
        if (inside.is_empty()) continue;
        const auto count = static_cast<uint64_t>(inside.end - inside.first);
        const auto col = inside.first + static_cast<int64_t>((mixed & 0xffffffff) % count);
        const auto value = element_at<S>(view, item, row % view.rows, col);
        if (value == S::zero) {
          range.has_zero = true;
        } else {
          range.merge({value, value, false, false});
        }
      }
      return range;
    };
    return Ranges{sample_one(problem.a, problem.structure.a), sample_one(problem.b, problem.structure.b)};
  });
}

}  // namespace mpmml::cpu
