// How a product is divided for the caches and the threads.
#pragma once
#include <cstdint>

#include "cpu/kernel.h"

namespace mpmml::cpu {

/// MC rows of A at a time read a slab of KC steps and NC columns of B. For witnesses, a slab is divided into stretches
/// of `stretch` steps (WindowsOfBlock).
struct Blocking {
  int64_t MC;
  int64_t NC;
  int64_t KC;
  int64_t stretch;
  bool windows_are_near;
};

Blocking choose_blocking(const PackedKernel& kernel, int64_t m, int64_t n, int64_t padded_k, int64_t batch, int threads,
                         bool with_witnesses);

}  // namespace mpmml::cpu
