// Numbers that stand for nothing. Kernels know of them too, so nothing of the host is included here.
#pragma once
#include <cstdint>

namespace mpmml {

/// The witness of a result that is zero, or that no candidate attains.
constexpr int32_t kNoWitness = -1;

/// Pivots::gain while no cycle gains.
constexpr int32_t kNoGain = 0x7fffffff;

/// Stands for no score at all: smaller than any, also after a score has been added. Two of them don't leave the type.
/// lib/rna/options.ts refuses scores that are so large.
template <class Score>
constexpr Score kNoInterval = static_cast<Score>(-(Score{1} << (8 * sizeof(Score) - 2)));

}  // namespace mpmml
