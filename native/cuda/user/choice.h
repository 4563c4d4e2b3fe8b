// Which template a product takes.
#pragma once
#include "core/user/product.h"
#include "cuda/user/templates.h"

namespace mpmml::cuda {

/// What it depends on.
struct UserChoice {
  const UserSemiring& semiring;
  int64_t batch, m, n;
  int multiprocessors;
  bool may_pack;  ///< whether there is memory for packed operands
};

const UserTemplate& product_template(const UserChoice& choice);
const UserTemplate& witness_template(const UserChoice& choice);

}  // namespace mpmml::cuda
