// The matrices of a product over any semiring. Code that only moves, places or shards them iterates over them here.
#pragma once
#include <type_traits>

#include "core/user/product.h"

namespace mpmml {

template <class Product>
constexpr bool has_lanes = std::is_same_v<std::remove_const_t<Product>, UserProduct>;

/// Calls visit(view, dtype) for A, B, C0 and `through`, for each lane. Data of a view may be null.
template <class Product, class Visit>
void for_operands(Product& product, Visit&& visit) {
  if constexpr (has_lanes<Product>) {
    for (size_t lane = 0; lane < product.lane_count(); ++lane) {
      for (auto* view : {&product.a[lane], &product.b[lane], &product.c0[lane]}) visit(*view, product.dtype(lane));
    }
  } else {
    for (auto* view : {&product.a, &product.b, &product.c0}) visit(*view, product.operation.dtype);
    visit(product.through, DataType::kInt32);
  }
}

/// Calls visit(view, dtype) for C, for each lane, and for each requested auxiliary output.
template <class Product, class Visit>
void for_results(Product& product, Visit&& visit) {
  if constexpr (has_lanes<Product>) {
    for (size_t lane = 0; lane < product.lane_count(); ++lane) visit(product.c[lane], product.dtype(lane));
  } else {
    visit(product.c, product.operation.dtype);
  }
  for_auxiliary(product, [&](const AuxiliaryOutput& it) { visit(product.*it.view, kAuxiliaryType); });
}

}  // namespace mpmml
