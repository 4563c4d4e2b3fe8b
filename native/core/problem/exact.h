// Computation of one result by its definition: Algorithm 4 of the thesis with exact arithmetic. The naive product uses
// it for every result, and overflow errors are derived from it.
#pragma once
#include "core/algebra/arithmetic.h"
#include "core/problem/problem.h"
#include "core/problem/structured.h"

namespace mpmml {

/// Returns row `row` of A ⊗ column `col` of B, as an accumulator of `Arithmetic` (Wide, Wrapping or Plain).
template <class Arithmetic>
typename Arithmetic::Accumulator exact_cell(const Problem& problem, int64_t batch, int64_t row, int64_t col) {
  using S = typename Arithmetic::Semiring;
  auto acc = Arithmetic::initial();
  const Span steps = steps_of_result(problem, row, col);
  for (int64_t k = steps.first; k < steps.end; ++k) {
    acc = Arithmetic::accumulate(acc, Arithmetic::encode(element_at<S>(problem.a, batch, row, k)),
                                 Arithmetic::encode(element_at<S>(problem.b, batch, k, col)));
  }
  return acc;
}

}  // namespace mpmml
