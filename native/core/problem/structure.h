// Which elements of a matrix belong to a product: those near the diagonal. All others are the semiring's zero in an
// operand, and are left as they are in a result.
#pragma once
#include <cstdint>

#include "core/problem/layout.h"

namespace mpmml {

/// More diagonals than any matrix has, and so few that sums of some of them don't overflow.
constexpr int64_t kAllDiagonals = int64_t{1} << 60;

/// The elements (i, j) with −below ≤ j − i ≤ above. Both may be negative: {−1, kAllDiagonals} is strictly upper
/// triangular.
struct Band {
  int64_t below = kAllDiagonals;
  int64_t above = kAllDiagonals;

  constexpr bool operator==(const Band& other) const { return below == other.below && above == other.above; }
  MPMML_HOST_DEVICE constexpr bool has(int64_t row, int64_t col) const {
    return col - row >= -below && col - row <= above;
  }
  /// The same band as seen from element (row, col) on.
  MPMML_HOST_DEVICE constexpr Band from(int64_t row, int64_t col) const {
    return {below + (col - row), above - (col - row)};
  }
  /// The same band of the transposed matrix.
  MPMML_HOST_DEVICE constexpr Band transposed() const { return {above, below}; }
  /// Whether all elements of a matrix of this size are in the band.
  MPMML_HOST_DEVICE constexpr bool is_all(int64_t rows, int64_t cols) const {
    return below >= rows - 1 && above >= cols - 1;
  }
};

/// Numbers from `first` up to but not including `end`. There are none if end ≤ first.
struct Span {
  int64_t first, end;
  MPMML_HOST_DEVICE constexpr bool is_empty() const { return end <= first; }
  /// Only of a span whose end isn't before its first.
  MPMML_HOST_DEVICE constexpr int64_t size() const { return end - first; }
  MPMML_HOST_DEVICE constexpr bool holds(Span other) const { return first <= other.first && other.end <= end; }
  /// The same numbers counted from `origin` on.
  MPMML_HOST_DEVICE constexpr Span from(int64_t origin) const { return {first - origin, end - origin}; }
  constexpr bool operator==(const Span& other) const { return first == other.first && end == other.end; }
};

/// The structure of the matrices of a product. Every instance of a batch has the same.
struct Structure {
  Band a, b, c;

  constexpr bool operator==(const Structure& other) const { return a == other.a && b == other.b && c == other.c; }

  /// Whether all elements of an m × k and a k × n matrix and of their product are in it.
  constexpr bool is_general(int64_t m, int64_t n, int64_t k) const {
    return a.is_all(m, k) && b.is_all(k, n) && c.is_all(m, n);
  }

  /// The steps of K that can reach a result in these rows and columns. Some of them can still be zero for each result.
  MPMML_HOST_DEVICE constexpr Span steps(Span rows, Span cols, int64_t k) const {
    const int64_t from_a = rows.first - a.below, to_a = rows.end + a.above;
    const int64_t from_b = cols.first - b.above, to_b = cols.end + b.below;
    const int64_t first = from_a > from_b ? from_a : from_b, end = to_a < to_b ? to_a : to_b;
    return {first > 0 ? first : 0, end < k ? end : k};
  }

  /// Whether C has a result in these rows and columns.
  MPMML_HOST_DEVICE constexpr bool has_results(Span rows, Span cols) const {
    return cols.end - 1 - rows.first >= -c.below && cols.first - (rows.end - 1) <= c.above;
  }

  /// Whether all elements in these rows and columns of C are results.
  MPMML_HOST_DEVICE constexpr bool is_whole(Span rows, Span cols) const {
    return cols.first - (rows.end - 1) >= -c.below && cols.end - 1 - rows.first <= c.above;
  }

  /// The structure of the part of the product that begins with result (row, col).
  MPMML_HOST_DEVICE constexpr Structure from(int64_t row, int64_t col) const {
    return {a.from(row, 0), b.from(0, col), c.from(row, col)};
  }
};

}  // namespace mpmml
