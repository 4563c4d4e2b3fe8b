#include "core/user/product.h"

#include <cstring>

namespace mpmml {
namespace {

double number_of(UserType type, uint32_t bits) {
  if (type != UserType::kFloat32) return static_cast<int32_t>(bits);
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

double UserProduct::steps() const { return static_cast<double>(batch) * steps_of(structure, m(), n(), k()); }

double UserProduct::operations() const {
  if (is_of_logarithms()) {
    // Estimated operations for each element of the operands and of the result, and for each step.
    constexpr double kPerElement = 40, kPerStep = 2;
    const double operands = static_cast<double>(k()) * static_cast<double>(m() + n());
    const double results = static_cast<double>(m() * n());
    return kPerStep * steps() + kPerElement * static_cast<double>(batch) * (operands + results);
  }
  return steps() * static_cast<double>(semiring->lowered_plus.nodes.size() + semiring->lowered_times.nodes.size());
}

UserProduct sub(const UserProduct& product, const Region& region) {
  const auto& [items, rows, cols] = region;
  const Span steps{0, product.k()};
  UserProduct part = product;
  restrict_to(part, region);
  for (size_t lane = 0; lane < product.lane_count(); ++lane) {
    const DataType dtype = product.dtype(lane);
    part.a[lane] = sub(product.a[lane], dtype, {items, rows, steps});
    part.b[lane] = sub(product.b[lane], dtype, {items, steps, cols});
    part.c0[lane] = sub(product.c0[lane], dtype, region);
    part.c[lane] = sub(product.c[lane], dtype, region);
  }
  return part;
}

std::vector<ClearedResult> cleared_results(const UserProduct& product) {
  std::vector<ClearedResult> results;
  if (product.structure.c.is_all(product.m(), product.n())) return results;
  const UserSemiring& semiring = *product.semiring;
  for (size_t lane = 0; !product.keeps_c && lane < semiring.lane_count(); ++lane) {
    results.push_back({product.c[lane], product.dtype(lane), number_of(semiring.lanes[lane], semiring.zero[lane])});
  }
  clear_auxiliary(product, results);
  return results;
}

}  // namespace mpmml
