#include "core/user/product.h"

#include "core/problem/structured.h"

namespace mpmml {

double UserProduct::steps() const { return static_cast<double>(batch) * steps_of(structure, m, n, k); }

double UserProduct::operations() const {
  if (is_of_logarithms()) {
    // Some for each element of the operands, and of the result.
    constexpr double kPerElement = 40, kPerStep = 2;
    const double operands = static_cast<double>(k) * static_cast<double>(m + n), results = static_cast<double>(m * n);
    return kPerStep * steps() + kPerElement * static_cast<double>(batch) * (operands + results);
  }
  return steps() * static_cast<double>(semiring->lowered_plus.nodes.size() + semiring->lowered_times.nodes.size());
}

UserProduct sub(const UserProduct& product, const Region& region) {
  const auto& [items, rows, cols] = region;
  const Span steps{0, product.k};
  UserProduct part = product;
  part.batch = items.size();
  part.m = rows.size();
  part.n = cols.size();
  for (size_t lane = 0; lane < product.lane_count(); ++lane) {
    const DataType dtype = stored_type(product.semiring->lanes[lane]);
    part.a[lane] = sub(product.a[lane], dtype, {items, rows, steps});
    part.b[lane] = sub(product.b[lane], dtype, {items, steps, cols});
    part.c0[lane] = sub(product.c0[lane], dtype, region);
    part.c[lane] = sub(product.c[lane], dtype, region);
  }
  for (const auto& [view, name, none] : kFurtherResults) part.*view = sub(product.*view, kFurtherType, region);
  part.structure = product.structure.from(rows.first, cols.first);
  return part;
}

void clear_outside(const UserProduct& product) {
  const Band& band = product.structure.c;
  if (band.is_all(product.m, product.n)) return;
  if (!product.keeps_c) {
    for (size_t lane = 0; lane < product.lane_count(); ++lane) {
      fill_outside(product.c[lane], product.batch, band, product.semiring->zero[lane]);
    }
  }
  for (const auto& [view, name, none] : kFurtherResults) fill_outside(product.*view, product.batch, band, none);
}

}  // namespace mpmml
