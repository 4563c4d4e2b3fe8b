// What elimination computes with: the values of ways between nodes, many at a time.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/graph/rows.h"
#include "core/graph/rules.h"

namespace mpmml::graph {

/// Each of these is a struct of functions: `extend` goes on from a way by another one, and `improve` takes the better of two. They
/// are for numbers and for vectors of them, which are passed by reference because not every ABI has a way to return them.

/// Lengths. Those of integers are exact: see `holds`.
template <class V>
struct Lengths {
  using Value = V;
  static constexpr bool is_integral = std::is_integral_v<V>;
  /// No way: so far that two of these can be added, and that the sum of one and any other length isn't a length.
  static constexpr V unreached() {
    if constexpr (is_integral) return (V{1} << 30) - 1;
    return std::numeric_limits<V>::infinity();
  }
  static constexpr V start() { return 0; }
  static constexpr bool is_reachable(V value) { return value < (is_integral ? unreached() / 2 : unreached()); }
  static constexpr V of_edge(V key) { return key; }
  static constexpr V key(V value) { return value; }

  /// Whether ways of integers are exact if none is longer than `most`.
  static constexpr bool holds(double most) { return most <= (is_integral ? 1 << 28 : int64_t{1} << 52); }

  template <class X>
  static void extend(X& way, const X& other) {
    way += other;
  }
  template <class X>
  static void improve(X& way, const X& other) {
    way = other < way ? other : way;
  }
};

/// Products of numbers from 0 to 1, the greatest of which is the best. They are the negatives of the keys of paths.
template <class V>
struct Products {
  using Value = V;
  static constexpr V unreached() { return 0; }
  static constexpr V start() { return 1; }
  static constexpr bool is_reachable(V value) { return value != 0; }
  static constexpr V of_edge(V key) { return key; }
  static constexpr V key(V value) { return -value; }

  template <class X>
  static void extend(X& way, const X& other) {
    way *= other;
  }
  template <class X>
  static void improve(X& way, const X& other) {
    way = other > way ? other : way;
  }
};

/// The worst edges of ways.
template <class V>
struct Bottlenecks {
  using Value = V;
  using Range = std::numeric_limits<V>;
  static constexpr V unreached() { return Range::has_infinity ? Range::infinity() : Range::max(); }
  static constexpr V start() { return -unreached(); }
  static constexpr bool is_reachable(V value) { return value != unreached(); }
  static constexpr V of_edge(V key) { return key; }
  static constexpr V of_edge(NoKey) { return start(); }
  static constexpr V key(V value) { return value; }
  /// Whether no edge of integers up to `largest` is like no way.
  static constexpr bool holds(double largest) { return largest < static_cast<double>(Range::max()); }

  template <class X>
  static void extend(X& way, const X& other) {
    way = other > way ? other : way;
  }
  template <class X>
  static void improve(X& way, const X& other) {
    way = other < way ? other : way;
  }
};

/// Those of all integers, which are not like no way then.
struct WideBottlenecks : Bottlenecks<double> {
  static constexpr double start() { return -std::numeric_limits<int32_t>::max(); }
};

/// A way that another one goes on from.
template <class PathAlgebra>
typename PathAlgebra::Value joined(typename PathAlgebra::Value way, typename PathAlgebra::Value other) {
  PathAlgebra::extend(way, other);
  return way;
}

/// The way along an edge.
template <class PathAlgebra, class Key>
typename PathAlgebra::Value way_along(const Edge<Key>& edge) {
  if constexpr (std::is_same_v<Key, NoKey>) {
    return PathAlgebra::of_edge(NoKey());
  } else {
    return PathAlgebra::of_edge(static_cast<typename PathAlgebra::Value>(edge.key));
  }
}

/// Searches that are swept at once. A row of a table has the values of one node: one of each search.
constexpr int kLanes = 64;

/// Those that are compiled.
#define MPMML_FOR_EACH_WAYS(use)                                                                            \
  use(Lengths<int32_t>) use(Lengths<float>) use(Lengths<double>) use(Products<float>) use(Products<double>) \
      use(Bottlenecks<int32_t>) use(Bottlenecks<float>) use(Bottlenecks<double>)

/// relax() finds the best ways from some nodes to others, which go on from ways of which `table` has the values:
/// row to[j] ⊕= row from[i] ⊗ weights[i · stride + j], for each i and j. Rows of the table have kLanes values each.
///
/// eliminate() finds the paths from nodes [first, end) through the node `pivot`, in a square matrix. False if a cycle gains.
#define MPMML_WAYS(PathAlgebra)                                                                               \
  void relax(PathAlgebra, PathAlgebra::Value* table, const int32_t* from, int64_t sources, const int32_t* to, \
             int64_t targets, const PathAlgebra::Value* weights, int64_t stride);                             \
  bool eliminate(PathAlgebra, PathAlgebra::Value* matrix, int64_t size, int64_t pivot, int64_t first, int64_t end);

MPMML_FOR_EACH_WAYS(MPMML_WAYS)
#undef MPMML_WAYS

}  // namespace mpmml::graph
