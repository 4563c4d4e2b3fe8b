// Parts of a problem. Everything that belongs to a part moves together here: views of operands, of C0 and of the results,
// structure, and the indices of results.
#pragma once
#include "core/problem/problem.h"

namespace mpmml {

/// These rows and columns of C, in these instances of the batch; or the same of any matrices. K isn't divided, so each part
/// of a product is exact by itself.
struct Region {
  Span items, rows, cols;

  bool is_empty() const { return items.is_empty() || rows.is_empty() || cols.is_empty(); }
  bool operator==(const Region& other) const {
    return items == other.items && rows == other.rows && cols == other.cols;
  }
};

template <class Pointer>
Region whole(const BasicMatrixView<Pointer>& view, int64_t batch) {
  return {{0, batch}, {0, view.rows}, {0, view.cols}};
}
inline Region whole(const Problem& problem) { return {{0, problem.batch}, {0, problem.m()}, {0, problem.n()}}; }

/// The matrices of a region. There are region.items.size() of them. Null stays null.
template <class Pointer>
BasicMatrixView<Pointer> sub(BasicMatrixView<Pointer> view, DataType dtype, const Region& region) {
  view = view_from(view, dtype, region.items.first, region.rows.first, region.cols.first);
  view.rows = region.rows.size();
  view.cols = region.cols.size();
  return view;
}
/// The same rows and columns of every matrix of a batch.
template <class Pointer>
BasicMatrixView<Pointer> sub(const BasicMatrixView<Pointer>& view, DataType dtype, Span rows, Span cols) {
  return sub(view, dtype, {{0, 1}, rows, cols});
}

/// The product that a region of C is.
Problem sub(const Problem& problem, const Region& region);

/// The region that is one result: number `index` of all in row-major order.
Region result_at(const Problem& problem, int64_t index);

/// The index of an element of a region, in row-major order, as one of whole matrices with so many rows and columns.
int64_t index_in_whole(const Region& region, int64_t rows, int64_t cols, int64_t index);

}  // namespace mpmml
