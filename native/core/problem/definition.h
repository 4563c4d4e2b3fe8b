// Results and witnesses by their definition: Algorithm 4 of the thesis with exact arithmetic, one result at a time. The
// naive product uses it for every result, overflow errors and the witnesses of other kernels where their accumulators
// don't decide. (Kernels have epilogues of their own: cpu/epilogue.h, cuda/kernels/epilogue.cuh.)
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

/// Stores C[item, row, col] = C0 ⊕ acc into `c`. Returns whether the result overflowed.
template <class Arithmetic>
bool store_result(const Problem& problem, const MutableMatrixView& c, int64_t item, int64_t row, int64_t col,
                  typename Arithmetic::Accumulator acc) {
  using S = typename Arithmetic::Semiring;
  using Element = typename S::Element;
  const Element c0 = problem.c0.data ? element_at<S>(problem.c0, item, row, col) : S::zero;
  bool overflowed = false;
  static_cast<Element*>(c.data)[item * c.batch_stride + row * c.row_stride + col * c.col_stride] =
      Arithmetic::finish(acc, c0, overflowed);
  return overflowed;
}

/// Writes the results of a product of host matrices with K = 0. All witnesses are −1. Throws Error(kValue).
void store_without_steps(const Problem& problem);

/// Returns whether the candidate a ⊗ b, stored according to the overflow policy, is `result`, which isn't zero. Under
/// the throwing policy a sum outside the finite range never matches.
template <class S>
bool is_candidate(typename S::Element a, typename S::Element b, OverflowPolicy overflow, typename S::Element result) {
  using Element = typename S::Element;
  if constexpr (S::can_overflow) {
    if (a == S::zero || b == S::zero) return false;
    const int64_t sum = int64_t{a} + b;
    if (overflow == OverflowPolicy::kWrap) return static_cast<Element>(sum) == result;
    if (overflow == OverflowPolicy::kThrow) return sum == result;
    if (result == FiniteRange<S>::least) return sum <= result;
    return result == FiniteRange<S>::most ? sum >= result : sum == result;
  } else {
    using Arithmetic = Plain<S>;
    bool overflowed = false;
    const auto acc = Arithmetic::accumulate(Arithmetic::initial(), Arithmetic::encode(a), Arithmetic::encode(b));
    return Arithmetic::finish(acc, S::zero, overflowed) == result;
  }
}

/// Returns the smallest k whose candidate is `result`; kNoWitness if no candidate matches or the result is zero.
template <class S>
int32_t witness_of(const Problem& problem, int64_t item, int64_t row, int64_t col, typename S::Element result) {
  if (result == S::zero) return kNoWitness;
  const Span steps = steps_of_result(problem, row, col);
  for (int64_t k = steps.first; k < steps.end; ++k) {
    if (is_candidate<S>(element_at<S>(problem.a, item, row, k), element_at<S>(problem.b, item, k, col),
                        problem.operation.overflow, result)) {
      return static_cast<int32_t>(k);
    }
  }
  return kNoWitness;
}

/// Returns c0 as the result without any candidate.
template <class S>
typename S::Element as_result(typename S::Element c0) {
  if constexpr (S::can_overflow) {
    return c0;
  } else {
    bool overflowed = false;
    return Plain<S>::finish(Plain<S>::initial(), c0, overflowed);
  }
}

inline int32_t through_at(const Problem& problem, int64_t item, int64_t row, int64_t k) {
  const MatrixView& view = problem.through;
  return static_cast<const int32_t*>(view.data)[item * view.batch_stride + row * view.row_stride + k * view.col_stride];
}

/// Stores the witness of C[item, row, col] = `result`. `c0` is the initial value of the accumulation; zero without C0.
template <class S>
void store_witness(const Problem& problem, int64_t item, int64_t row, int64_t col, typename S::Element c0,
                   typename S::Element result) {
  int32_t& witness = auxiliary_at(problem.witness, item, row, col);
  if (!problem.through.data) {
    witness = witness_of<S>(problem, item, row, col, result);
  } else if (as_result<S>(c0) != result) {
    const int32_t k = witness_of<S>(problem, item, row, col, result);
    if (k != kNoWitness) witness = through_at(problem, item, row, k);
  }
}

}  // namespace mpmml
