#include "cpu/thin_product.h"

#include <algorithm>
#include <mutex>

#include "core/algebra/dispatch.h"
#include "core/problem/structured.h"
#include "cpu/loop.h"
#include "cpu/results.h"

namespace mpmml::cpu {
namespace {

/// With at most this many lanes in the small operand, packing the large one takes longer than it saves.
constexpr int64_t kMaxThinLanes = 12;
/// Bytes of a strip's accumulators and of the current steps of the small operand, which stay in the first-level cache.
constexpr int64_t kBytesAtHand = 16 << 10;

struct Strides {
  int64_t lane;
  int64_t k;
};
/// If there is a single lane, only the stride of the steps matters.
Strides strides_of_a(const Problem& problem) {
  return {problem.m() == 1 ? 0 : problem.a.row_stride, problem.a.col_stride};
}
Strides strides_of_b(const Problem& problem) {
  return {problem.n() == 1 ? 0 : problem.b.col_stride, problem.b.row_stride};
}

bool is_adjacent(const Strides& strides) { return strides.lane == 1 || strides.k == 1; }

bool a_is_large(const Problem& problem) {
  if (problem.m() != problem.n()) return problem.m() > problem.n();
  return !is_adjacent(strides_of_b(problem));
}

}  // namespace

bool is_thin(const Problem& problem) {
  return std::min(problem.m(), problem.n()) <= kMaxThinLanes && !is_structured(problem) &&
         is_adjacent(a_is_large(problem) ? strides_of_a(problem) : strides_of_b(problem));
}

ThinProduct::ThinProduct(const Problem& problem, const Kernel& kernel)
    : problem_(problem),
      kernel_(kernel),
      a_is_large_(a_is_large(problem)),
      rows_(a_is_large_ ? problem.n() : problem.m()),
      cols_(a_is_large_ ? problem.m() : problem.n()) {
  const Strides large = a_is_large_ ? strides_of_a(problem) : strides_of_b(problem);
  // If the large operand's steps are adjacent, a part has many steps of a few lanes; otherwise few steps of many lanes.
  const bool along_steps = large.k == 1 && large.lane != 1;
  constexpr int64_t little = 256;
  // For witnesses each accumulator has a note of the same size.
  const int64_t cell = (problem.witness.data && !along_steps ? 2 : 1) * kernel.thin.accumulator_size;
  const int64_t much = std::max(kBytesAtHand / (rows_ * cell), little);
  strip_ = std::min(along_steps ? little : much, cols_);
  depth_ = std::min(along_steps ? much : little, problem.k());
  // Another thread pays off from about this many elements of the large operand on.
  constexpr int64_t elements_of_a_part = 1 << 18;
  const int64_t strips = ceil_div(cols_, strip_) * problem.batch;
  const int64_t wanted = thread_count() > 1 ? ceil_div(4 * thread_count(), strips) : 1;
  parts_ = std::max<int64_t>(std::min(wanted, strip_ * problem.k() / elements_of_a_part), 1);
  part_depth_ = ceil_div(ceil_div(problem.k(), parts_), depth_) * depth_;
  parts_ = ceil_div(problem.k(), part_depth_);
  const int64_t elements = saturating_product(parts_ * rows_, cols_);
  item_size_ = saturating_product(elements, kernel.thin.accumulator_size);
  accumulators_.emplace(checked_size(saturating_product(item_size_, problem.witness.data ? 2 : 1), problem.batch));
}

ThinProduct::Part ThinProduct::part(int64_t index) const {
  const int64_t strips = ceil_div(cols_, strip_);
  const int64_t item = index / (strips * parts_);
  const int64_t part = index / strips % parts_;
  const int64_t col = index % strips * strip_, k = part * part_depth_;
  return {item,
          col,
          std::min(cols_, col + strip_),
          k,
          std::min(problem_.k(), k + part_depth_),
          accumulators(item, part) + col * kernel_.thin.accumulator_size};
}

char* ThinProduct::accumulators(int64_t item, int64_t part) const {
  return static_cast<char*>(accumulators_->data()) + item * item_size_ +
         part * rows_ * cols_ * kernel_.thin.accumulator_size;
}

void* ThinProduct::notes(char* accumulators) const {
  return problem_.witness.data ? accumulators + item_size_ * problem_.batch : nullptr;
}

Lanes ThinProduct::lanes(bool of_large, const Part& part, int64_t k) const {
  const bool of_a = of_large == a_is_large_;
  const MatrixView& view = of_a ? problem_.a : problem_.b;
  const Strides strides = of_a ? strides_of_a(problem_) : strides_of_b(problem_);
  const int64_t first = of_large ? part.first_col : 0, end = of_large ? part.end_col : rows_;
  const MatrixView from = of_a ? view_from(view, problem_.operation.dtype, part.item, first, k)
                               : view_from(view, problem_.operation.dtype, part.item, k, first);
  return {from.data, end - first, std::min(depth_, part.end_k - k), strides.lane, strides.k, view.storage};
}

Ranges ThinProduct::in_order(const Ranges& ranges) const { return a_is_large_ ? Ranges{ranges.b, ranges.a} : ranges; }

bool ThinProduct::accumulate_part(const Part& part, ArithmeticKind path, Ranges& ranges,
                                  const std::atomic<bool>& aborted) const {
  const Workspace encoded(checked_size(depth_, rows_ * kernel_.thin.operand_size));
  ThinRequest request{};
  request.path = path;
  request.encoded = encoded.data();
  request.accumulators = part.accumulators;
  request.row_stride = cols_;
  request.notes = notes(part.accumulators);
  for (int64_t k = part.first_k; k < part.end_k;) {
    check_cancelled(problem_);
    if (aborted.load(std::memory_order_relaxed)) return true;
    request.small = lanes(false, part, k);
    request.large = lanes(true, part, k);
    request.first_k = k;
    request.starts = k == part.first_k;
    const auto [small, large] = kernel_.thin.accumulate(request);
    ranges.a.merge(small);
    if (large.has_zero && !request.may_be_zero) {
      request.may_be_zero = true;
      k = part.first_k;
      continue;
    }
    ranges.b.merge(large);
    const Ranges seen = in_order(ranges);
    if (!exact_arithmetics(problem_.operation, seen.a, seen.b).meets(kernel_.paths)) return false;
    k += request.large.k;
  }
  return true;
}

Ranges ThinProduct::accumulate(ArithmeticKind path) {
  const int64_t count = ceil_div(cols_, strip_) * parts_ * problem_.batch;
  const int64_t work = saturating_product(problem_.outputs(), problem_.k());
  steps_counted_ = 0;
  Ranges all;
  std::mutex mutex;
  std::atomic<bool> aborted{false};
  for_each_run(problem_, count, work, 1, [&](int64_t first, int64_t end) {
    Ranges seen;
    double counted = 0;
    for (int64_t index = first; index < end; ++index) {
      const Part next = part(index);
      if (!accumulate_part(next, path, seen, aborted)) aborted.store(true, std::memory_order_relaxed);
      const double share = static_cast<double>(next.end_k - next.first_k) / static_cast<double>(problem_.k());
      const double outputs = static_cast<double>(rows_ * (next.end_col - next.first_col)) * share;
      problem_.count_steps(outputs);
      counted += outputs;
    }
    std::lock_guard<std::mutex> lock(mutex);
    all.a.merge(seen.a);
    all.b.merge(seen.b);
    steps_counted_ += counted;
  });
  return in_order(all);
}

int64_t ThinProduct::finish(ArithmeticKind path, const MutableMatrixView& c) const {
  int64_t first_overflow = kNoOverflow;
  for (int64_t item = 0; item < problem_.batch; ++item) {
    const Results results = results_from(problem_, c, item, 0, 0);
    char* const first = accumulators(item, 0);
    const int64_t found = kernel_.thin.finish({path, rows_, cols_, first, cols_, parts_, rows_ * cols_,
                                               a_is_large_ ? transposed(results) : results, notes(first)});
    first_overflow = std::min(first_overflow, found);
  }
  return first_overflow;
}

}  // namespace mpmml::cpu
