// The bits of core/algebra/arithmetic.h, with 64 k-steps per word.
#pragma once
#include "core/algebra/arithmetic.h"

namespace mpmml::cpu {

template <class S>
using Bits = PackedBits<S, uint64_t>;

}  // namespace mpmml::cpu
