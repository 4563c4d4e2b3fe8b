// Selection of the template for a product.
#pragma once
#include "core/user/product.h"
#include "cuda/user/templates.h"

namespace mpmml::cuda {

/// Returns whether a template is applicable to a semiring: the numbers of lanes are equal, and the kernel won't be too
/// long.
bool may_take(const UserTemplate& shape, const UserSemiring& semiring);

/// Inputs of the selection.
struct UserChoice {
  const UserSemiring& semiring;
  int64_t batch, m, n, k;
  bool is_structured;
  int multiprocessors;
  bool may_pack;  ///< whether there is memory for packed operands
};

const UserTemplate& product_template(const UserChoice& choice);
const UserTemplate& witness_template(const UserChoice& choice);

}  // namespace mpmml::cuda
