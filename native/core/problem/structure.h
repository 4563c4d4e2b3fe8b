// Banded structure of the matrices of a product. Elements outside of the band are the semiring's zero in an operand,
// and are not written in a result.
#pragma once
#include <cstdint>

#include "core/problem/layout.h"

namespace mpmml {

/// Number of diagonals that exceeds every matrix; sums of a few of these don't overflow.
constexpr int64_t kAllDiagonals = int64_t{1} << 60;

/// Half-open range of numbers [first, end). It is empty if end ≤ first.
struct Span {
  int64_t first, end;
  MPMML_HOST_DEVICE constexpr bool is_empty() const { return end <= first; }
  /// Returns the size of a span. `end` must not be less than `first`.
  MPMML_HOST_DEVICE constexpr int64_t size() const { return end - first; }
  MPMML_HOST_DEVICE constexpr bool holds(Span other) const { return first <= other.first && other.end <= end; }
  /// Returns the span relative to `origin`.
  MPMML_HOST_DEVICE constexpr Span from(int64_t origin) const { return {first - origin, end - origin}; }
  /// Returns the intersection. Its end may be less than its first.
  MPMML_HOST_DEVICE constexpr Span within(Span other) const {
    return {first > other.first ? first : other.first, end < other.end ? end : other.end};
  }
  constexpr bool operator==(const Span& other) const { return first == other.first && end == other.end; }
};

/// The elements (i, j) with −below ≤ j − i ≤ above. Both may be negative: {−1, kAllDiagonals} is strictly upper
/// triangular. Only this file and structured.cpp rely on the shape of the band, in which the elements of each row and
/// of each column are contiguous. Other code calls these functions.
struct Band {
  int64_t below = kAllDiagonals;
  int64_t above = kAllDiagonals;

  constexpr bool operator==(const Band& other) const { return below == other.below && above == other.above; }
  /// Arbitrary order, for containers.
  constexpr bool operator<(const Band& other) const {
    return below != other.below ? below < other.below : above < other.above;
  }
  MPMML_HOST_DEVICE constexpr bool has(int64_t row, int64_t col) const {
    return col - row >= -below && col - row <= above;
  }
  /// Returns the columns of a row in the band of an infinite matrix. The other functions also assume infinite matrices.
  MPMML_HOST_DEVICE constexpr Span of_row(int64_t row) const { return {row - below, row + above + 1}; }
  /// Returns the rows of a column in the band.
  MPMML_HOST_DEVICE constexpr Span of_column(int64_t col) const { return transposed().of_row(col); }
  /// Returns the columns that at least one of these rows has in the band; of_all() returns the columns that all of them
  /// have.
  MPMML_HOST_DEVICE constexpr Span of_some(Span rows) const { return {rows.first - below, rows.end + above}; }
  MPMML_HOST_DEVICE constexpr Span of_all(Span rows) const { return {rows.end - 1 - below, rows.first + above + 1}; }
  /// Returns whether at least one element in these rows and columns is in the band; has_all() tests for all of them.
  MPMML_HOST_DEVICE constexpr bool has_some(Span rows, Span cols) const {
    return cols.end - 1 - rows.first >= -below && cols.first - (rows.end - 1) <= above;
  }
  MPMML_HOST_DEVICE constexpr bool has_all(Span rows, Span cols) const {
    return cols.first - (rows.end - 1) >= -below && cols.end - 1 - rows.first <= above;
  }
  /// Returns the band extended by `by` diagonals on each side.
  MPMML_HOST_DEVICE constexpr Band widened(int64_t by) const { return {below + by, above + by}; }
  /// Returns the band relative to element (row, col).
  MPMML_HOST_DEVICE constexpr Band from(int64_t row, int64_t col) const {
    return {below + (col - row), above - (col - row)};
  }
  /// Returns the band of the transposed matrix.
  MPMML_HOST_DEVICE constexpr Band transposed() const { return {above, below}; }
  /// Returns whether all elements of a matrix of this size are in the band.
  MPMML_HOST_DEVICE constexpr bool is_all(int64_t rows, int64_t cols) const {
    return below >= rows - 1 && above >= cols - 1;
  }
};

/// Bands of the matrices of a product, for every batch entry.
struct Structure {
  Band a, b, c;

  constexpr bool operator==(const Structure& other) const { return a == other.a && b == other.b && c == other.c; }

  /// Returns whether the bands contain all elements of an m × k and a k × n matrix and of their product.
  constexpr bool is_general(int64_t m, int64_t n, int64_t k) const {
    return a.is_all(m, k) && b.is_all(k, n) && c.is_all(m, n);
  }

  /// Returns the k-steps that can contribute to a result in these rows and columns. They may include steps whose
  /// elements are outside of the bands for each result.
  MPMML_HOST_DEVICE constexpr Span steps(Span rows, Span cols, int64_t k) const {
    return a.of_some(rows).within(b.transposed().of_some(cols)).within({0, k});
  }
  /// Returns the k-steps that all of these results have, for infinite operands.
  MPMML_HOST_DEVICE constexpr Span steps_of_all(Span rows, Span cols) const {
    return a.of_all(rows).within(b.transposed().of_all(cols));
  }

  /// Returns the structure of the part of the product that begins at result (row, col).
  MPMML_HOST_DEVICE constexpr Structure from(int64_t row, int64_t col) const {
    return {a.from(row, 0), b.from(0, col), c.from(row, col)};
  }
};

}  // namespace mpmml
