#include "core/closure/path_range.h"

#include "core/algebra/arithmetic.h"
#include "core/algebra/dispatch.h"

namespace mpmml {
namespace {

/// Returns `bound` without values worse than the worst of `range`, which has no zero: elements only improve.
template <class S>
ValueRange without_worse(ValueRange bound, const ValueRange& range) {
  bound.has_zero = false;
  (S::maximizes ? bound.minimum : bound.maximum) = S::maximizes ? range.minimum : range.maximum;
  return bound;
}

/// Returns a bound of the sums of up to `count` elements of a range.
template <class S>
std::optional<ValueRange> bound_of_sums(const ValueRange& range, int64_t count) {
  using Element = typename S::Element;
  ValueRange bound = range;
  if (!range.has_finite()) return bound;
  if constexpr (S::can_overflow) {
    const auto reach = [&](int64_t end, bool outwards) { return outwards ? end * count : end; };
    bound.minimum = reach(range.minimum, range.minimum < 0);
    bound.maximum = reach(range.maximum, range.maximum > 0);
  } else {
    // The factor includes a margin for the rounding of each sum.
    const double factor = 1.1 * static_cast<double>(count);
    const auto reach = [&](int64_t key, bool outwards) {
      const double end = static_cast<double>(from_order_key<Element>(key));
      return int64_t{order_key(static_cast<Element>(outwards ? end * factor : end))};
    };
    bound.minimum = reach(range.minimum, from_order_key<Element>(range.minimum) < 0);
    bound.maximum = reach(range.maximum, from_order_key<Element>(range.maximum) > 0);
  }
  if (!range.has_zero) bound = without_worse<S>(bound, range);
  if constexpr (S::can_overflow) {
    constexpr int64_t kLimit = EncodedZero<S>::limit;
    if (bound.minimum < -kLimit || bound.maximum > kLimit) return std::nullopt;
  }
  return bound;
}

/// Returns a bound of the paths through one group of pivots.
template <class S>
std::optional<ValueRange> bound_of_group(const ValueRange& range) {
  return bound_of_sums<S>(range, kMaxPivotsOfGroup + 1);
}

}  // namespace

std::optional<PathRange> path_range(const Operation& operation, const ValueRange& range, int64_t nodes) {
  return with_semiring(operation, [&](auto semiring) -> std::optional<PathRange> {
    using S = decltype(semiring);
    if constexpr (has_range<S>) {
      if (const std::optional<ValueRange> all = bound_of_sums<S>(range, nodes)) return PathRange{*all, false};
      if (const std::optional<ValueRange> first = bound_of_group<S>(range)) return PathRange{*first, true};
      return std::nullopt;
    } else {
      return PathRange{};
    }
  });
}

bool PathRangeTracker::tighten(const ValueRange& found) {
  // After an improving cycle elements are unspecified, so any arithmetic will do.
  if (!is_within(found)) return true;
  return with_semiring(operation_, [&](auto semiring) {
    using S = decltype(semiring);
    if constexpr (has_range<S>) {
      if (!known_.of_group) {
        if (!found.has_zero) known_.range = without_worse<S>(known_.range, found);
      } else if (const std::optional<ValueRange> next = bound_of_group<S>(found)) {
        known_.range = *next;
      } else {
        return false;
      }
    }
    return true;
  });
}

}  // namespace mpmml
