#include "core/problem/structured.h"

#include <algorithm>

#include "core/algebra/dispatch.h"

namespace mpmml {
namespace {

/// Sums the first or the end columns of rows of B. `column` returns the column of a row, and must not decrease.
template <class Column>
class Borders {
 public:
  Borders(int64_t count, Column column) : count_(count), column_(column) {}

  /// Returns the sum of the columns of these rows of B, each clamped to `cols`. Neither span may begin or end before
  /// the spans of the previous call.
  int64_t sum(Span rows, Span cols) {
    while (before_first_ < count_ && column_(before_first_) < cols.first) ++before_first_;
    while (before_end_ < count_ && column_(before_end_) < cols.end) ++before_end_;
    const int64_t first = std::clamp(before_first_, rows.first, rows.end);
    const int64_t end = std::clamp(before_end_, rows.first, rows.end);
    for (; inside_.end < end; ++inside_.end) sum_ += column_(inside_.end);
    for (; inside_.first < first; ++inside_.first) sum_ -= column_(inside_.first);
    return (first - rows.first) * cols.first + sum_ + (rows.end - end) * cols.end;
  }

 private:
  const int64_t count_;
  const Column column_;
  int64_t before_first_ = 0,
          before_end_ = 0;  ///< number of rows whose column is before cols.first, and before cols.end
  Span inside_{0, 0};       ///< rows that sum_ covers
  int64_t sum_ = 0;
};

}  // namespace

double steps_of(const Structure& structure, int64_t m, int64_t n, int64_t k) {
  if (structure.is_general(m, n, k)) return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const auto& [a, b, c] = structure;
  // The steps of a row of C are the columns that it shares with each row of B that the row of A selects.
  const auto row_of_b = [&b = b, n](int64_t step) {
    const Span inside = b.of_row(step);
    const int64_t first = std::clamp<int64_t>(inside.first, 0, n);
    return Span{first, std::clamp(inside.end, first, n)};
  };
  Borders firsts(k, [&](int64_t step) { return row_of_b(step).first; });
  Borders ends(k, [&](int64_t step) { return row_of_b(step).end; });
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

std::vector<ClearedResult> cleared_results(const Problem& problem) {
  std::vector<ClearedResult> results;
  if (problem.structure.c.is_all(problem.m(), problem.n())) return results;
  if (!problem.keeps_c) {
    const double zero =
        with_semiring(problem.operation, [](auto semiring) { return static_cast<double>(decltype(semiring)::zero); });
    results.push_back({problem.c, problem.operation.dtype, zero});
  }
  if (!problem.updates_auxiliary()) clear_auxiliary(problem, results);
  return results;
}

void clear_auxiliary(const AuxiliaryOutputs& of, std::vector<ClearedResult>& to) {
  for_auxiliary(of, [&](const AuxiliaryOutput& it) {
    to.push_back({of.*it.view, kAuxiliaryType, static_cast<double>(it.none)});
  });
}

}  // namespace mpmml
