#include "core/problem/structured.h"

#include <algorithm>

#include "core/algebra/dispatch.h"

namespace mpmml {
namespace {

/// The sum of the terms above 0 among `count` terms that begin with `first` and grow by `slope`, −1, 0 or 1.
double sum_above_zero(int64_t first, int64_t slope, int64_t count) {
  if (count <= 0) return 0;
  if (slope == 0) return static_cast<double>(std::max<int64_t>(first, 0)) * static_cast<double>(count);
  const int64_t greatest = slope < 0 ? first : first + count - 1;
  const int64_t terms = std::clamp<int64_t>(greatest, 0, count);
  return static_cast<double>(terms) * (static_cast<double>(greatest) - static_cast<double>(terms - 1) / 2);
}

/// For a row of A and C with these columns inside: over the steps, the columns of B that are inside and in those of C.
double steps_of_row(const Band& b, Span steps, Span cols) {
  if (steps.is_empty() || cols.is_empty()) return 0;
  // A row of B begins in the band after cols.first from this step on, and ends before cols.end up to the other one.
  const auto within = [&](int64_t step) { return std::clamp(step, steps.first, steps.end); };
  const int64_t begins_later = within(cols.first + b.below), ends_earlier = within(cols.end - 1 - b.above);
  const int64_t bounds[] = {steps.first, std::min(begins_later, ends_earlier), std::max(begins_later, ends_earlier),
                            steps.end};
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    const int64_t step = bounds[i];
    const int64_t first = std::max(step - b.below, cols.first), end = std::min(step + b.above + 1, cols.end);
    const int64_t slope = int64_t{step < ends_earlier} - int64_t{step >= begins_later};
    sum += sum_above_zero(end - first, slope, bounds[i + 1] - step);
  }
  return sum;
}

}  // namespace

double steps_of(const Structure& structure, int64_t m, int64_t n, int64_t k) {
  if (structure.is_general(m, n, k)) return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const auto& [a, b, c] = structure;
  double steps = 0;
  for (int64_t row = 0; row < m; ++row) steps += steps_of_row(b, span_of_row(a, row, k), span_of_row(c, row, n));
  return steps;
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
