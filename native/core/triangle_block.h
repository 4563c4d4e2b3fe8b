// What kernels know of tables over intervals (triangle.h). Nothing of the host is included here.
#pragma once
#include <cstdint>

namespace mpmml {

/// The rows of a block of a triangle.
constexpr int64_t kTriangleBlock = 32;

/// Stands for no score at all: smaller than any, also after a score has been added. Two of them don't leave the type.
/// lib/rna/options.ts refuses scores that are so large.
template <class Score>
constexpr Score kNoInterval = static_cast<Score>(-(Score{1} << (8 * sizeof(Score) - 2)));

}  // namespace mpmml
