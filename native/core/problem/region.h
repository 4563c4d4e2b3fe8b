// Regions of a problem, and their partition. The functions here adapt all data of a part together: views of operands,
// of C0 and of the results, structure, and the indices of results.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "core/problem/problem.h"
#include "core/rounding.h"

namespace mpmml {

/// Rows and columns of C, or of other matrices, in a range of batch entries. K isn't divided, so each part of a product
/// is exact by itself.
struct Region {
  Span items, rows, cols;

  bool is_empty() const { return items.is_empty() || rows.is_empty() || cols.is_empty(); }
  bool operator==(const Region& other) const {
    return items == other.items && rows == other.rows && cols == other.cols;
  }
};

using Axis = Span Region::*;

/// Returns consecutive regions with `step` items, rows or columns each. The last one may have fewer.
inline std::vector<Region> cut(const Region& region, Axis axis, int64_t step) {
  const Span all = region.*axis;
  std::vector<Region> parts;
  for (int64_t first = all.first; first < all.end; first += step) {
    parts.push_back(region);
    parts.back().*axis = {first, std::min(first + step, all.end)};
  }
  return parts;
}

/// Returns the axis along which a region is halved: its batch entries, or the longer side of a single one.
inline Axis longest_axis(const Region& region) {
  if (region.items.size() > 1) return &Region::items;
  return region.rows.size() >= region.cols.size() ? &Region::rows : &Region::cols;
}

/// Returns the halves of a region. The size of the first is a multiple of `granularity`.
inline std::pair<Region, Region> halves(const Region& region, Axis axis, int64_t granularity) {
  std::pair<Region, Region> both{region, region};
  const Span all = region.*axis;
  const int64_t middle = all.first + round_up(all.size() / 2, granularity);
  (both.first.*axis).end = (both.second.*axis).first = middle;
  return both;
}

template <class Pointer>
Region whole(const BasicMatrixView<Pointer>& view, int64_t batch) {
  return {{0, batch}, {0, view.rows}, {0, view.cols}};
}
inline Region whole(const Problem& problem) { return {{0, problem.batch}, {0, problem.m()}, {0, problem.n()}}; }

/// Returns the region.items.size() submatrices of a region. Null stays null.
template <class Pointer>
BasicMatrixView<Pointer> sub(BasicMatrixView<Pointer> view, DataType dtype, const Region& region) {
  view = view_from(view, dtype, region.items.first, region.rows.first, region.cols.first);
  view.rows = region.rows.size();
  view.cols = region.cols.size();
  return view;
}
/// Returns these rows and columns of every matrix of a batch.
template <class Pointer>
BasicMatrixView<Pointer> sub(const BasicMatrixView<Pointer>& view, DataType dtype, Span rows, Span cols) {
  return sub(view, dtype, {{0, 1}, rows, cols});
}

/// Restricts what all products have in common to a region of C.
void restrict_to(ProductBase& product, const Region& region);

/// Returns the product that computes a region of C.
Problem sub(const Problem& problem, const Region& region);

/// Returns the region of the single result with this row-major index.
Region result_at(const Problem& problem, int64_t index);

/// Converts the row-major index of an element in a region to its index in whole matrices of `rows` × `cols` elements.
int64_t index_in_whole(const Region& region, int64_t rows, int64_t cols, int64_t index);

}  // namespace mpmml
