// Sentinel values of results. Kernels include this header, so it includes nothing of the host.
#pragma once
#include <cstdint>

namespace mpmml {

/// Witness of a result that is zero, or that no candidate attains.
constexpr int32_t kNoWitness = -1;

/// Value of Pivots::gain until an improving cycle is found.
constexpr int32_t kNoGain = 0x7fffffff;

/// Score of an impossible interval: smaller than every score, also after a score has been added. The sum of two of them
/// doesn't overflow. lib/rna/options.ts rejects scores of this magnitude.
template <class Score>
constexpr Score kNoInterval = static_cast<Score>(-(Score{1} << (8 * sizeof(Score) - 2)));

}  // namespace mpmml
