// core/arithmetic.h's bits, 64 k-steps a word.
#pragma once
#include "core/arithmetic.h"

namespace mpmml::cpu {

template <class S>
using Bits = PackedBits<S, uint64_t>;

}  // namespace mpmml::cpu
