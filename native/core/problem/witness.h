// Which k decides a result, by its definition (Problem). The naive product uses it for every result, others only
// for what they can't tell from their accumulators.
#pragma once
#include "core/algebra/arithmetic.h"
#include "core/problem/problem.h"
#include "core/problem/structured.h"

namespace mpmml {

/// Whether the candidate a ⊗ b is `result`, which isn't zero, if it is stored as the overflow policy says. Under the
/// throwing policy a sum outside the finite range is equal to nothing.
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

/// The smallest k whose candidate is `result`, or kNoWitness if there is none or the result is zero.
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

/// c0 as a result that it decides by itself.
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

/// Stores the witness of C[item, row, col] = `result`. `c0` is what was accumulated to; zero if nothing was.
template <class S>
void store_witness(const Problem& problem, int64_t item, int64_t row, int64_t col, typename S::Element c0,
                   typename S::Element result) {
  int32_t& witness = further_at(problem.witness, item, row, col);
  if (!problem.through.data) {
    witness = witness_of<S>(problem, item, row, col, result);
  } else if (as_result<S>(c0) != result) {
    const int32_t k = witness_of<S>(problem, item, row, col, result);
    if (k != kNoWitness) witness = through_at(problem, item, row, k);
  }
}

}  // namespace mpmml
