// Path problems of semirings. Searches minimize keys: if ⊕ is a maximum, the key is the negative of the value.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "generated/enumerators.h"

namespace mpmml::graph {

struct Rules {
  Extension extension;
  bool maximizes;
  double zero;  ///< value of no path in distances
};

/// Key of an edge without a weight.
struct NoKey {};

/// Returns the key of an edge. For products it is the weight itself, because only the path keys are negated.
template <class Key, class Weight>
Key edge_key(const Rules& rules, Weight weight) {
  if constexpr (std::is_same_v<Key, NoKey>) {
    return {};
  } else {
    const Key key = static_cast<Key>(weight);
    // 0 − key turns −0 into +0, unlike −key.
    return rules.maximizes && rules.extension != Extension::kProduct ? static_cast<Key>(0 - key) : key;
  }
}

/// Returns whether an edge with this key improves a path that it extends.
template <class Key>
bool edge_gains(Extension extension, Key key) {
  if constexpr (std::is_same_v<Key, NoKey>) {
    return false;
  } else {
    if (extension == Extension::kBottleneck || extension == Extension::kLinks) return false;
    return extension == Extension::kSum ? key < 0 : key > 1;
  }
}

/// Key types of paths and edges. `Path` is at least as wide as `Edge`.
template <Extension kind, class Edge, class Path>
struct Keys {
  using EdgeKey = Edge;
  using PathKey = Path;
  static constexpr Extension extension = kind;
  static constexpr bool is_exact = std::is_same_v<Path, int64_t> && kind == Extension::kSum;

  static constexpr Path unreached() {
    if constexpr (kind == Extension::kProduct) return 0;
    return std::numeric_limits<Path>::has_infinity ? std::numeric_limits<Path>::infinity()
                                                   : std::numeric_limits<Path>::max();
  }

  /// Returns the key of the empty path.
  static constexpr Path start() {
    if constexpr (kind == Extension::kSum) {
      return 0;
    } else if constexpr (kind == Extension::kProduct) {
      return -1;
    } else if constexpr (std::numeric_limits<Path>::has_infinity) {
      return -std::numeric_limits<Path>::infinity();
    } else {
      return -std::numeric_limits<int32_t>::max();
    }
  }

  static Path extend(Path path, Edge edge) {
    if constexpr (kind == Extension::kSum) return path + static_cast<Path>(edge);
    if constexpr (kind == Extension::kProduct) return path * static_cast<Path>(edge);
    return path > static_cast<Path>(edge) ? path : static_cast<Path>(edge);
  }

  /// Returns whether an edge with this key is better than one with `other`.
  static bool is_better_edge(Edge key, Edge other) { return kind == Extension::kProduct ? key > other : key < other; }
};

/// Greatest exact sum of integers: JavaScript's Number.MAX_SAFE_INTEGER.
constexpr int64_t kMaxExact = (int64_t{1} << 53) - 1;

template <class K>
bool is_inexact(typename K::PathKey key) {
  if constexpr (K::is_exact) return key > kMaxExact || key < -kMaxExact;
  return false;
}

}  // namespace mpmml::graph
