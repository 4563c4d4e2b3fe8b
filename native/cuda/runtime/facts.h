// What is known of a matrix's elements whatever the semiring: from a scan, or as a bound that follows from how the
// matrix was made. A bound lets one product follow another without a scan of the values between them.
#pragma once
#include <algorithm>
#include <limits>

#include "core/algebra/dispatch.h"
#include "core/algebra/range.h"
#include "core/problem/layout.h"

namespace mpmml {

/// Whether facts count the order keys of the elements (order_key). Of other types they only tell whether some are negative.
template <class Element>
constexpr bool has_order_keys = std::is_same_v<Element, int32_t> || std::is_same_v<Element, float>;

/// The order keys of the two values that are a zero in some semiring: the ends of a type's order.
struct Ends {
  int64_t lowest, highest;
};
template <class Stored>
constexpr Ends ends_of() {
  return {kLowest<Stored>, kHighest<Stored>};
}
template <>
inline Ends ends_of<float>() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return {order_key(-kInfinity), order_key(kInfinity)};
}

/// Those of S's elements as they are stored.
template <class S>
Ends ends_of(Storage storage) {
  return with_stored<S>(storage, [](auto zero) { return ends_of<decltype(zero)>(); });
}

struct ValueBounds {
  /// The least and the greatest order key of the elements that aren't at an end; minimum > maximum if there are none.
  int64_t minimum = std::numeric_limits<int64_t>::max();
  int64_t maximum = std::numeric_limits<int64_t>::min();
  bool has_lowest = false, has_highest = false;  ///< whether an element may be at that end
  bool has_negative = false;                     ///< whether an element may be less than 0

  void include(int64_t least, int64_t greatest) {
    minimum = std::min(minimum, least);
    maximum = std::max(maximum, greatest);
  }
  void merge(const ValueBounds& other) {
    include(other.minimum, other.maximum);
    has_lowest |= other.has_lowest;
    has_highest |= other.has_highest;
    has_negative |= other.has_negative;
  }
};

/// True of any elements.
inline ValueBounds unbounded() {
  ValueBounds facts;
  facts.include(kLowest<int32_t>, kHighest<int32_t>);
  facts.has_lowest = facts.has_highest = facts.has_negative = true;
  return facts;
}

/// The facts about one element.
template <class Element>
ValueBounds facts_of_value(Element value) {
  ValueBounds facts;
  facts.has_negative = value < 0;
  if constexpr (has_order_keys<Element>) {
    const int64_t key = order_key(value);
    facts.has_lowest = key == ends_of<Element>().lowest;
    facts.has_highest = key == ends_of<Element>().highest;
    if (!facts.has_lowest && !facts.has_highest) facts.include(key, key);
  }
  return facts;
}

/// The range of an operand with these facts. `storage` is that of the elements that the facts are about.
template <class S>
ValueRange range_of(const ValueBounds& facts, Storage storage) {
  ValueRange range;
  range.has_invalid_element = S::restricts_elements && facts.has_negative;
  if constexpr (has_range<S>) {
    const Ends ends = ends_of<S>(storage);
    range.minimum = facts.minimum;
    range.maximum = facts.maximum;
    // One end is the semiring's zero, the other an element like others.
    const auto include = [&](bool there, int64_t key) {
      if (!there) return;
      range.minimum = std::min(range.minimum, key);
      range.maximum = std::max(range.maximum, key);
    };
    include(!S::maximizes && facts.has_lowest, ends.lowest);
    include(S::maximizes && facts.has_highest, ends.highest);
    range.has_zero = S::maximizes ? facts.has_lowest : facts.has_highest;
  }
  return range;
}

inline ValueRange range_of(const Operation& operation, const ValueBounds& facts, Storage storage) {
  return with_semiring(operation, [&](auto semiring) { return range_of<decltype(semiring)>(facts, storage); });
}

/// The facts about elements of S in this range, as they are stored.
template <class S>
ValueBounds facts_in(const ValueRange& range, Storage storage = Storage::kElement) {
  const Ends ends = ends_of<S>(storage);
  ValueBounds facts;
  facts.has_lowest = S::maximizes ? range.has_zero : range.has_finite() && range.minimum <= ends.lowest;
  facts.has_highest = !S::maximizes ? range.has_zero : range.has_finite() && range.maximum >= ends.highest;
  // NaNs are beyond the ends.
  const int64_t least = range.minimum == ends.lowest ? ends.lowest + 1 : range.minimum,
                greatest = range.maximum == ends.highest ? ends.highest - 1 : range.maximum;
  if (range.has_finite() && least <= greatest) facts.include(least, greatest);
  facts.has_negative = facts.has_lowest || (range.has_finite() && range.minimum < 0);
  return facts;
}

/// A bound of the sums of finite elements in these ranges, if ⊗ is a sum and ⊕ a maximum or a minimum.
template <class S>
ValueRange range_of_sums(const ValueRange& a, const ValueRange& b, OverflowPolicy overflow) {
  using Element = typename S::Element;
  ValueRange sums;
  sums.has_zero = a.has_zero || b.has_zero || !a.has_finite() || !b.has_finite();
  if (!a.has_finite() || !b.has_finite()) return sums;
  if constexpr (S::can_overflow) {
    sums.minimum = a.minimum + b.minimum;
    sums.maximum = a.maximum + b.maximum;
    if (sums.minimum >= FiniteRange<S>::least && sums.maximum <= FiniteRange<S>::most) return sums;
    if (overflow == OverflowPolicy::kWrap) {
      sums.has_zero = true;
      sums.minimum = FiniteRange<S>::least;
      sums.maximum = FiniteRange<S>::most;
    }
    const auto clamp = [](int64_t sum) {
      return std::clamp(sum, int64_t{FiniteRange<S>::least}, int64_t{FiniteRange<S>::most});
    };
    sums.minimum = clamp(sums.minimum);
    sums.maximum = clamp(sums.maximum);
  } else {
    // NaN is no candidate, and neither is the semiring's zero. Rounding keeps order.
    constexpr Element kMost = std::numeric_limits<Element>::max(), kInfinity = std::numeric_limits<Element>::infinity();
    const int64_t lowest = order_key(S::maximizes ? -kMost : -kInfinity),
                  highest = order_key(S::maximizes ? kInfinity : kMost);
    const auto bound = [&](int64_t key) { return from_order_key<Element>(std::clamp(key, lowest, highest)); };
    const Element least = bound(a.minimum) + bound(b.minimum), greatest = bound(a.maximum) + bound(b.maximum);
    const Element towards_zero = S::maximizes ? least : greatest;
    sums.has_zero = sums.has_zero || has_nan(a) || has_nan(b) || towards_zero == S::zero;
    sums.minimum = std::clamp<int64_t>(order_key(least), lowest, highest);
    sums.maximum = std::clamp<int64_t>(order_key(greatest), lowest, highest);
  }
  return sums;
}

/// Adds what elements with these facts become when they are results of S: −0 becomes 0.
template <class S>
void bounds_as_result(ValueBounds& facts) {
  using Element = typename S::Element;
  if constexpr (has_no_negative_zero<S> && has_order_keys<Element>) {
    const int64_t negative_zero = order_key(-Element{0});
    if (facts.minimum <= negative_zero && facts.maximum >= negative_zero)
      facts.include(negative_zero, order_key(Element{0}));
  }
}

/// Adds that elements may be anything but zero that `storage` can hold, if that isn't the type of elements.
template <class S>
void include_all_of(Storage storage, ValueBounds& facts) {
  if constexpr (has_narrow<typename S::Element>) {
    if (storage == Storage::kElement) return;
    const Ends ends = ends_of<S>(storage);
    facts.include(ends.lowest, ends.highest);
  }
}

/// A bound of the elements of C ⊕ D, if C is stored as elements.
template <class S>
ValueBounds facts_of_combination(const ValueBounds& c, const ValueBounds& d, Storage storage_d) {
  using Element = typename S::Element;
  if constexpr (!S::idempotent) {
    return unbounded();
  } else {
    ValueBounds facts = c;
    facts.merge(d);
    include_all_of<S>(storage_d, facts);
    // NaN isn't chosen; if there is nothing else, the result is zero.
    if constexpr (std::is_floating_point_v<Element>) facts.merge(facts_of_value(S::zero));
    bounds_as_result<S>(facts);
    return facts;
  }
}

/// A bound of the elements of A ⊗ B, if K > 0.
template <class S>
ValueBounds facts_of_product(const ValueBounds& a, Storage storage_a, const ValueBounds& b, Storage storage_b,
                             OverflowPolicy overflow) {
  if constexpr (has_range<S>) {
    return facts_in<S>(range_of_sums<S>(range_of<S>(a, storage_a), range_of<S>(b, storage_b), overflow));
  } else if constexpr (S::extend_kind == OperatorKind::kMinimum || S::extend_kind == OperatorKind::kMaximum) {
    // Each result is an element of A or of B, or zero.
    ValueBounds facts = a;
    facts.merge(b);
    include_all_of<S>(storage_a, facts);
    include_all_of<S>(storage_b, facts);
    facts.has_negative |= storage_a != Storage::kElement || storage_b != Storage::kElement;
    facts.merge(facts_of_value(S::zero));
    bounds_as_result<S>(facts);
    return facts;
  } else {
    // Where candidates are NaN, nothing may be left but zero.
    ValueBounds facts = unbounded();
    facts.has_negative = !S::restricts_elements && (a.has_negative || b.has_negative || S::zero < 0);
    return facts;
  }
}

inline ValueBounds facts_of_combination(const Operation& operation, const ValueBounds& c, const ValueBounds& d,
                                        Storage storage_d) {
  return with_semiring(operation,
                       [&](auto semiring) { return facts_of_combination<decltype(semiring)>(c, d, storage_d); });
}

/// The facts about elements that are in this range, as far as the operation has ranges.
inline ValueBounds facts_in(const Operation& operation, const ValueRange& range, Storage storage) {
  return with_semiring(operation, [&](auto semiring) {
    using S = decltype(semiring);
    if constexpr (has_range<S>) {
      return facts_in<S>(range, storage);
    } else {
      ValueBounds facts = unbounded();
      if (S::restricts_elements) facts.has_negative = range.has_invalid_element;
      return facts;
    }
  });
}

/// The facts about a matrix all of whose elements are `value`.
inline ValueBounds facts_of_fill(DataType dtype, double value) {
  if (dtype == DataType::kInt32) return facts_of_value(static_cast<int32_t>(value));
  if (dtype == DataType::kFloat32) return facts_of_value(static_cast<float>(value));
  return facts_of_value(value);
}

inline ValueBounds facts_of_product(const Operation& operation, const ValueBounds& a, Storage storage_a,
                                    const ValueBounds& b, Storage storage_b) {
  return with_semiring(operation, [&](auto semiring) {
    return facts_of_product<decltype(semiring)>(a, storage_a, b, storage_b, operation.overflow);
  });
}

}  // namespace mpmml
