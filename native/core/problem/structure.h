// Which elements of a matrix belong to a product: those near the diagonal. All others are the semiring's zero in an
// operand, and are left as they are in a result.
#pragma once
#include <cstdint>

#include "core/problem/layout.h"

namespace mpmml {

/// More diagonals than any matrix has, and so few that sums of some of them don't overflow.
constexpr int64_t kAllDiagonals = int64_t{1} << 60;

/// Numbers from `first` up to but not including `end`. There are none if end ≤ first.
struct Span {
  int64_t first, end;
  MPMML_HOST_DEVICE constexpr bool is_empty() const { return end <= first; }
  /// Only of a span whose end isn't before its first.
  MPMML_HOST_DEVICE constexpr int64_t size() const { return end - first; }
  MPMML_HOST_DEVICE constexpr bool holds(Span other) const { return first <= other.first && other.end <= end; }
  /// The same numbers counted from `origin` on.
  MPMML_HOST_DEVICE constexpr Span from(int64_t origin) const { return {first - origin, end - origin}; }
  /// Those that are in both. Its end may be before its first.
  MPMML_HOST_DEVICE constexpr Span within(Span other) const {
    return {first > other.first ? first : other.first, end < other.end ? end : other.end};
  }
  constexpr bool operator==(const Span& other) const { return first == other.first && end == other.end; }
};

/// The elements (i, j) with −below ≤ j − i ≤ above. Both may be negative: {−1, kAllDiagonals} is strictly upper
/// triangular. What asks which elements these are asks here, so that only this file and structured.cpp know that they are a
/// band: in each row, and in each column, they follow each other.
struct Band {
  int64_t below = kAllDiagonals;
  int64_t above = kAllDiagonals;

  constexpr bool operator==(const Band& other) const { return below == other.below && above == other.above; }
  /// Any order, for containers.
  constexpr bool operator<(const Band& other) const {
    return below != other.below ? below < other.below : above < other.above;
  }
  MPMML_HOST_DEVICE constexpr bool has(int64_t row, int64_t col) const {
    return col - row >= -below && col - row <= above;
  }
  /// The columns of a row that are in the band, of a matrix without ends. So are those of the other functions.
  MPMML_HOST_DEVICE constexpr Span of_row(int64_t row) const { return {row - below, row + above + 1}; }
  /// The rows of a column.
  MPMML_HOST_DEVICE constexpr Span of_column(int64_t col) const { return transposed().of_row(col); }
  /// The columns that some of these rows have, and those that all of them have.
  MPMML_HOST_DEVICE constexpr Span of_some(Span rows) const { return {rows.first - below, rows.end + above}; }
  MPMML_HOST_DEVICE constexpr Span of_all(Span rows) const { return {rows.end - 1 - below, rows.first + above + 1}; }
  /// Whether some or all elements in these rows and columns are in the band.
  MPMML_HOST_DEVICE constexpr bool has_some(Span rows, Span cols) const {
    return cols.end - 1 - rows.first >= -below && cols.first - (rows.end - 1) <= above;
  }
  MPMML_HOST_DEVICE constexpr bool has_all(Span rows, Span cols) const {
    return cols.first - (rows.end - 1) >= -below && cols.end - 1 - rows.first <= above;
  }
  /// All elements that are at most so many columns beside one of the band.
  MPMML_HOST_DEVICE constexpr Band widened(int64_t by) const { return {below + by, above + by}; }
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
    return a.of_some(rows).within(b.transposed().of_some(cols)).within({0, k});
  }
  /// The steps that all of these results have, of operands without ends.
  MPMML_HOST_DEVICE constexpr Span steps_of_all(Span rows, Span cols) const {
    return a.of_all(rows).within(b.transposed().of_all(cols));
  }

  /// The structure of the part of the product that begins with result (row, col).
  MPMML_HOST_DEVICE constexpr Structure from(int64_t row, int64_t col) const {
    return {a.from(row, 0), b.from(0, col), c.from(row, col)};
  }
};

}  // namespace mpmml
