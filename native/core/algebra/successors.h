// Next nodes on best paths, derived from distances (NextNodes in core/session/session.h): the part that both backends
// share.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/algebra/semiring.h"
#include "core/algebra/sentinels.h"

namespace mpmml {

/// Semirings whose distances determine next nodes: their sums are exact, over float64 as long as the values are
/// integers.
struct HasSuccessors {
  template <class S>
  static constexpr bool holds =
      S::idempotent && S::extend_kind == OperatorKind::kSum &&
      (std::is_same_v<typename S::Element, int32_t> || std::is_same_v<typename S::Element, double>);
};

/// Value that equals no sum of a weight and a distance. Over int32 it is zero. Finite sums are far from zero, because
/// weights and distances are within EncodedZero::limit. A weight isn't 0, so the wrapped sum of zero and a weight isn't
/// zero either, and equals no distance.
template <class S>
constexpr typename S::Element kUnwanted =
    S::can_overflow ? S::zero : std::numeric_limits<typename S::Element>::quiet_NaN();

/// Value of `next` for a pair that mark_tight_edges() leaves to find_next_nodes().
constexpr int32_t kOpenSuccessor = -2;

/// Returns the element of `next` that mark_tight_edges() writes for an edge with this weight between nodes at this
/// distance.
template <class S>
MPMML_HOST_DEVICE int32_t marked(int32_t weight, typename S::Element distance, int64_t from, int64_t to) {
  constexpr int32_t kNoEdge = S::maximizes ? kLowest<int32_t> : kHighest<int32_t>;
  if (distance == S::zero || from == to) return kNoWitness;
  if (weight != kNoEdge && static_cast<typename S::Element>(weight) == distance) return static_cast<int32_t>(to);
  return kOpenSuccessor;
}

template <class S>
MPMML_HOST_DEVICE typename S::Element worse(typename S::Element x, typename S::Element y) {
  return S::combine(x, y) == x ? y : x;
}

/// Returns whether an edge of this weight may begin a path of at least two edges that isn't worse than `worst`.
template <class S>
MPMML_HOST_DEVICE bool may_lead_on(typename S::Element weight, typename S::Element best_edge,
                                   typename S::Element worst) {
  const typename S::Element best = S::extend(weight, best_edge);
  return S::combine(best, worst) == best;
}

}  // namespace mpmml
