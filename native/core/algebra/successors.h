// What both backends know of next nodes that follow from distances (Successors in core/session/session.h).
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/algebra/semiring.h"
#include "core/algebra/sentinels.h"

namespace mpmml {

/// Semirings whose distances may be asked: their sums are exact, those of float64 as long as they hold integers.
struct HasSuccessors {
  template <class S>
  static constexpr bool holds =
      S::idempotent && S::extend_kind == OperatorKind::kSum &&
      (std::is_same_v<typename S::Element, int32_t> || std::is_same_v<typename S::Element, double>);
};

/// What no sum of a weight and a distance is. Over int32 that is zero: finite sums are far from it, because weights and
/// distances are within EncodedZero::limit, and a weight isn't 0, so that zero and a weight wrap to something else, which no
/// distance is.
template <class S>
constexpr typename S::Element kUnwanted =
    S::can_overflow ? S::zero : std::numeric_limits<typename S::Element>::quiet_NaN();

/// What `next` holds for a pair that mark_tight_edges() leaves to find_next_nodes().
constexpr int32_t kOpenSuccessor = -2;

/// What mark_tight_edges() makes of a weight from one node to another, of which `distance` is the distance.
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

/// Whether an edge of this weight may begin a way of more than one edge that isn't worse than `worst`.
template <class S>
MPMML_HOST_DEVICE bool may_lead_on(typename S::Element weight, typename S::Element best_edge,
                                   typename S::Element worst) {
  const typename S::Element best = S::extend(weight, best_edge);
  return S::combine(best, worst) == best;
}

}  // namespace mpmml
