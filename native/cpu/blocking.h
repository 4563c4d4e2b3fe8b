// How a product is cut up for the caches and the threads.
#pragma once
#include <cstdint>

#include "cpu/kernel.h"

namespace mpmml::cpu {

/// A slab of KC steps of NC columns of B is read by MC rows of A at a time.
struct Blocking {
  int64_t MC;
  int64_t NC;
  int64_t KC;
};

Blocking choose_blocking(const PackedKernel& kernel, int64_t m, int64_t n, int64_t padded_k, int64_t batch,
                         int threads);

}  // namespace mpmml::cpu
