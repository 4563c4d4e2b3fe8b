// Loops over the parts of a product, on several threads if the work is large enough. They stop if the product is
// cancelled.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/problem/layout.h"
#include "core/problem/problem.h"
#include "core/problem/scan.h"
#include "core/status.h"
#include "core/watch.h"
#include "cpu/threads.h"

namespace mpmml::cpu {

/// Minimum of k-steps for which a loop wakes other threads: a thread takes about 50 µs to wake.
constexpr int64_t kWorthThreads = 1 << 22;

inline int64_t saturating_product(int64_t x, int64_t y) {
  int64_t product;
  return __builtin_mul_overflow(x, y, &product) ? INT64_MAX : product;
}

/// The size of a workspace for `count` times `bytes`.
inline int64_t checked_size(int64_t bytes, int64_t count) {
  const int64_t size = saturating_product(bytes, count);
  if (size < INT64_MAX) return size;
  throw Error(ErrorCode::kOutOfMemory, "the workspace of this product is larger than memory can be");
}

/// `watched` has the cancellation flag: a problem, a product, or a cancellation token.
template <class Watched>
void check_cancelled(const Watched& watched) {
  if (watched.is_cancelled()) throw aborted();
}

/// Runs `body(index)` for `count` parts, on several threads if they are `together`. Checks for cancellation before
/// each.
template <class Watched, class Body>
void for_each_part(const Watched& watched, int64_t count, bool together, Body body) {
  auto part = [&](int64_t index) {
    check_cancelled(watched);
    body(index);
  };
  if (together) return parallel_for(count, part);
  for (int64_t index = 0; index < count; ++index) part(index);
}

/// Returns the maximum number of threads that for_each_run() uses for `count` parts.
inline int64_t max_threads(int64_t count, int64_t work) {
  return work >= kWorthThreads ? std::min<int64_t>(count, thread_count()) : 1;
}

/// Runs `body(first, end)` over [0, count) in runs of about `work_at_once` k-steps, out of `work` in total.
template <class Watched, class Body>
void for_each_run(const Watched& watched, int64_t count, int64_t work, int64_t work_at_once, Body body) {
  const int64_t each = std::max<int64_t>(work / count, 1);
  const int64_t length = std::max<int64_t>(work_at_once / each, 1);
  for_each_part(watched, ceil_div(count, length), work >= kWorthThreads,
                [&](int64_t index) { body(index * length, std::min(count, (index + 1) * length)); });
}

/// Runs `body(first, end)` over [0, count), where each index stands for `elements` elements that are scanned, packed or
/// copied.
template <class Watched, class Body>
void for_each_run_of_elements(const Watched& watched, int64_t count, int64_t elements, Body body) {
  // An element takes as long as this many k-steps.
  constexpr int64_t kStepsPerElement = 8, kStepsAtOnce = 1 << 20;
  if (count == 0) return;
  const int64_t work = saturating_product(saturating_product(count, elements), kStepsPerElement);
  for_each_run(watched, count, work, kStepsAtOnce, body);
}

/// Scans elements of matrices. The problem's flags cancel the scan.
inline ForRuns scan_runs_of(const Problem& problem) {
  return [&problem](int64_t count, int64_t elements, const std::function<void(int64_t, int64_t)>& body) {
    for_each_run_of_elements(problem, count, elements, body);
  };
}

}  // namespace mpmml::cpu
