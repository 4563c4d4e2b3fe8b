#include "core/problem/structured.h"

#include <algorithm>
#include <vector>

#include "core/algebra/dispatch.h"

namespace mpmml {
namespace {

/// Where the rows of B begin among its columns, or where they end: a row never before the one above it.
class Borders {
 public:
  explicit Borders(int64_t count) {
    columns_.reserve(static_cast<size_t>(count));
    sums_.reserve(static_cast<size_t>(count) + 1);
    sums_.push_back(0);
  }
  void add(int64_t column) {
    columns_.push_back(column);
    sums_.push_back(sums_.back() + column);
  }

  /// Their sum for these rows of B, each taken into `cols`, which neither begin nor end before those of the call before.
  int64_t sum(Span rows, Span cols) {
    while (before_first_ < size() && columns_[before_first_] < cols.first) ++before_first_;
    while (before_end_ < size() && columns_[before_end_] < cols.end) ++before_end_;
    const int64_t first = std::clamp(static_cast<int64_t>(before_first_), rows.first, rows.end);
    const int64_t end = std::clamp(static_cast<int64_t>(before_end_), rows.first, rows.end);
    return (first - rows.first) * cols.first + (sums_[static_cast<size_t>(end)] - sums_[static_cast<size_t>(first)]) +
           (rows.end - end) * cols.end;
  }

 private:
  size_t size() const { return columns_.size(); }

  std::vector<int64_t> columns_, sums_;  ///< sums_[i] is the sum of the first i
  size_t before_first_ = 0, before_end_ = 0;
};

}  // namespace

double steps_of(const Structure& structure, int64_t m, int64_t n, int64_t k) {
  if (structure.is_general(m, n, k)) return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const auto& [a, b, c] = structure;
  // A row of A and C takes, of each row of B that its steps are, the columns that C has too.
  Borders firsts(k), ends(k);
  for (int64_t step = 0; step < k; ++step) {
    const Span inside = b.of_row(step);
    const int64_t first = std::clamp<int64_t>(inside.first, 0, n);
    firsts.add(first);
    ends.add(std::clamp(inside.end, first, n));
  }
  int64_t steps = 0;
  for (int64_t row = 0; row < m; ++row) {
    const Span taken = span_of_row(a, row, k), cols = span_of_row(c, row, n);
    if (!taken.is_empty() && !cols.is_empty()) steps += ends.sum(taken, cols) - firsts.sum(taken, cols);
  }
  return static_cast<double>(steps);
}

double steps_of(const Problem& problem) {
  return static_cast<double>(problem.batch) * steps_of(problem.structure, problem.m(), problem.n(), problem.k());
}

void clear_outside(const Problem& problem) {
  const Band& band = problem.structure.c;
  if (band.is_all(problem.m(), problem.n())) return;
  if (!problem.keeps_c) {
    with_semiring(problem.operation,
                  [&](auto semiring) { fill_outside(problem.c, problem.batch, band, decltype(semiring)::zero); });
  }
  if (problem.updates_further()) return;
  for (const auto& [view, name, none] : kFurtherResults) fill_outside(problem.*view, problem.batch, band, none);
}

}  // namespace mpmml
