// Algebras of path values for elimination and sweeps, vectorized.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/graph/rows.h"
#include "core/graph/rules.h"

namespace mpmml::graph {

/// Each algebra is a struct of functions: `extend` appends a path to another one (⊗), and `improve` takes the better of
/// two (⊕). Both work on numbers and on vectors, which are passed by reference because not every ABI can return
/// vectors.

/// Sums of weights. Sums of integers are exact: see `holds`.
template <class V>
struct Lengths {
  using Value = V;
  static constexpr bool is_integral = std::is_integral_v<V>;
  /// Value of no path. The sum of two of them doesn't overflow, and its sum with any length isn't a length.
  static constexpr V unreached() {
    if constexpr (is_integral) return (V{1} << 30) - 1;
    return std::numeric_limits<V>::infinity();
  }
  static constexpr V start() { return 0; }
  static constexpr bool is_reachable(V value) { return value < (is_integral ? unreached() / 2 : unreached()); }
  static constexpr V of_edge(V key) { return key; }
  static constexpr V key(V value) { return value; }

  /// Returns whether path lengths of integers are exact if none is greater than `most`.
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

/// Products of numbers from 0 to 1, of which the greatest is the best. Values are the negatives of path keys.
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

/// Bottlenecks: the worst edge of a path.
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
  /// Returns whether integer edges up to `largest` differ from the value of no path.
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

/// Bottlenecks of arbitrary int32 weights: in double every weight differs from the value of no path.
struct Float64Bottlenecks : Bottlenecks<double> {
  static constexpr double start() { return -std::numeric_limits<int32_t>::max(); }
};

/// Returns the value of a path followed by another one.
template <class PathAlgebra>
typename PathAlgebra::Value joined(typename PathAlgebra::Value way, typename PathAlgebra::Value other) {
  PathAlgebra::extend(way, other);
  return way;
}

/// Returns the value of the path along one edge.
template <class PathAlgebra, class Key>
typename PathAlgebra::Value way_along(const Edge<Key>& edge) {
  if constexpr (std::is_same_v<Key, NoKey>) {
    return PathAlgebra::of_edge(NoKey());
  } else {
    return PathAlgebra::of_edge(static_cast<typename PathAlgebra::Value>(edge.key));
  }
}

/// Number of searches that are swept at once. A table row has the values of one node, one for each search.
constexpr int kLanes = 64;

/// Compiled algebras.
#define MPMML_FOR_EACH_WAYS(use)                                                                            \
  use(Lengths<int32_t>) use(Lengths<float>) use(Lengths<double>) use(Products<float>) use(Products<double>) \
      use(Bottlenecks<int32_t>) use(Bottlenecks<float>) use(Bottlenecks<double>)

/// relax() extends the paths of `table` from source nodes to target nodes: row to[j] ⊕= row from[i] ⊗ weights[i ·
/// stride + j], for each i and j. Rows of the table have kLanes values each.
///
/// eliminate() relaxes the paths from nodes [first, end) through the node `pivot`, in a square matrix. It returns false
/// if a cycle improves.
#define MPMML_WAYS(PathAlgebra)                                                                               \
  void relax(PathAlgebra, PathAlgebra::Value* table, const int32_t* from, int64_t sources, const int32_t* to, \
             int64_t targets, const PathAlgebra::Value* weights, int64_t stride);                             \
  bool eliminate(PathAlgebra, PathAlgebra::Value* matrix, int64_t size, int64_t pivot, int64_t first, int64_t end);

MPMML_FOR_EACH_WAYS(MPMML_WAYS)
#undef MPMML_WAYS

}  // namespace mpmml::graph
