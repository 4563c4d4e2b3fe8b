#include "core/problem/region.h"

namespace mpmml {

void restrict_to(ProductBase& product, const Region& region) {
  product.batch = region.items.size();
  for (const auto& [view, name, none] : kAuxiliaryResults) product.*view = sub(product.*view, kAuxiliaryType, region);
  product.structure = product.structure.from(region.rows.first, region.cols.first);
}

Problem sub(const Problem& problem, const Region& region) {
  const auto& [items, rows, cols] = region;
  const DataType dtype = problem.operation.dtype;
  const Span steps{0, problem.k()};
  Problem part = problem;
  restrict_to(part, region);
  part.a = sub(problem.a, dtype, {items, rows, steps});
  part.b = sub(problem.b, dtype, {items, steps, cols});
  part.c0 = sub(problem.c0, dtype, region);
  part.c = sub(problem.c, dtype, region);
  part.through = sub(problem.through, DataType::kInt32, {items, rows, steps});
  return part;
}

Region result_at(const Problem& problem, int64_t index) {
  const int64_t col = index % problem.n(), row = index / problem.n() % problem.m();
  const int64_t item = index / problem.n() / problem.m();
  return {{item, item + 1}, {row, row + 1}, {col, col + 1}};
}

int64_t index_in_whole(const Region& region, int64_t rows, int64_t cols, int64_t index) {
  const int64_t width = region.cols.size(), height = region.rows.size();
  const int64_t item = region.items.first + index / width / height;
  const int64_t row = region.rows.first + index / width % height;
  return (item * rows + row) * cols + region.cols.first + index % width;
}

}  // namespace mpmml
