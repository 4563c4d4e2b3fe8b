// Memory layout of a table over the intervals of a strand: its upper triangle, in blocks of rows.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/algebra/sentinels.h"
#include "core/rna/intervals.h"
#include "core/rounding.h"

namespace mpmml {

/// A strand of n bases has n + 1 nodes, before, between and after its bases. Element [a, b], a ≤ b, is for the bases
/// from node a to node b: a, a + 1, …, b − 1; none if a = b. So a table is a triangular matrix, and splitting intervals
/// at a node is a matrix product.
///
/// Row a is at `position` a + padding(), and so is column a: the padding comes first, where rows are shortest. A row
/// has the columns from its own block of kBlock on, up to the end of the longest interval. Elements that are no
/// interval are kNoInterval.
class Triangle {
 public:
  static constexpr int64_t kBlock = kTriangleBlock;

  /// `reach` is the number of bases of the longest interval.
  Triangle(int64_t bases, int64_t reach) {
    const int64_t positions = round_up(bases + 1, kBlock);
    sizes_ = {static_cast<int>(positions), static_cast<int>(positions - bases - 1),
              static_cast<int>(round_up(std::min(reach, bases), kBlock))};
    rows_.resize(static_cast<size_t>(positions));
    for (int64_t row = 0; row < positions; ++row) {
      const int64_t block = row / kBlock;
      rows_[row] = elements_ - block * kBlock;
      elements_ += stride(block);
    }
  }

  const TriangleSizes& sizes() const { return sizes_; }
  int64_t positions() const { return sizes_.positions; }
  int64_t padding() const { return sizes_.padding; }
  int64_t blocks() const { return positions() / kBlock; }
  int64_t end_column(int64_t block) const { return sizes_.end_column(static_cast<int>(block)); }
  int64_t stride(int64_t block) const { return sizes_.stride(static_cast<int>(block)); }
  /// Returns the number of diagonals of blocks. The diagonal at distance d from the first has blocks() − d blocks.
  int64_t diagonals() const { return end_column(0) / kBlock; }
  /// Returns the offset of a row: the element at column c has the index row(position) + c.
  int64_t row(int64_t position) const { return rows_[position]; }
  int64_t elements() const { return elements_; }
  /// Returns the index of element [a, b].
  int64_t at(int64_t a, int64_t b) const { return rows_[a + padding()] + b + padding(); }

 private:
  TriangleSizes sizes_;
  int64_t elements_ = 0;
  std::vector<int64_t> rows_;
};

}  // namespace mpmml
