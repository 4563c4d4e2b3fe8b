#include "core/graph/path_algebra.h"

#include "core/algebra/clones.h"

#define MPMML_INLINE static inline __attribute__((always_inline))

namespace mpmml::graph {
namespace {

/// Vectors of 32 bytes, which compilers split on instruction sets with 16 bytes. Vectors in memory have the alignment
/// of their elements.
template <class V>
struct VectorOf {
  typedef V type __attribute__((vector_size(32)));
  typedef V in_memory __attribute__((vector_size(32), aligned(sizeof(V)), may_alias));
  static constexpr int lanes = 32 / sizeof(V);
};

/// Relaxes `rows` targets, whose vectors stay in registers.
template <class PathAlgebra, int rows>
MPMML_INLINE void relax_rows(typename PathAlgebra::Value* table, const int32_t* from, int64_t sources,
                             const int32_t* to, const typename PathAlgebra::Value* weights, int64_t stride) {
  using V = typename PathAlgebra::Value;
  using Vector = typename VectorOf<V>::type;
  using InMemory = typename VectorOf<V>::in_memory;
  constexpr int lanes = VectorOf<V>::lanes;
  for (int lane = 0; lane < kLanes; lane += 2 * lanes) {
    V* const base = table + lane;
    Vector best[rows][2];
#pragma GCC unroll 4
    for (int j = 0; j < rows; ++j) {
      const auto* const row = reinterpret_cast<const InMemory*>(base + int64_t{to[j]} * kLanes);
      best[j][0] = row[0];
      best[j][1] = row[1];
    }
    const V* weight = weights;
    for (int64_t i = 0; i < sources; ++i, weight += stride) {
      const auto* const row = reinterpret_cast<const InMemory*>(base + int64_t{from[i]} * kLanes);
      const Vector first = row[0], second = row[1];
#pragma GCC unroll 4
      for (int j = 0; j < rows; ++j) {
        const Vector own = weight[j] - Vector{};
        Vector ways[2] = {first, second};
        for (int part = 0; part < 2; ++part) {
          PathAlgebra::extend(ways[part], own);
          PathAlgebra::improve(best[j][part], ways[part]);
        }
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < rows; ++j) {
      auto* const row = reinterpret_cast<InMemory*>(base + int64_t{to[j]} * kLanes);
      row[0] = best[j][0];
      row[1] = best[j][1];
    }
  }
}

template <class PathAlgebra>
MPMML_INLINE void relax_all(typename PathAlgebra::Value* table, const int32_t* from, int64_t sources, const int32_t* to,
                            int64_t targets, const typename PathAlgebra::Value* weights, int64_t stride) {
  int64_t at = 0;
  for (; at + 4 <= targets; at += 4) relax_rows<PathAlgebra, 4>(table, from, sources, to + at, weights + at, stride);
  for (; at < targets; ++at) relax_rows<PathAlgebra, 1>(table, from, sources, to + at, weights + at, stride);
}

template <class PathAlgebra>
MPMML_INLINE bool eliminate_supernode(typename PathAlgebra::Value* matrix, int64_t size, int64_t k, int64_t first,
                                      int64_t end) {
  using V = typename PathAlgebra::Value;
  const V* const pivot = matrix + k * size;
  V round = PathAlgebra::start();
  PathAlgebra::improve(round, pivot[k]);
  if (round != PathAlgebra::start()) return false;
  for (int64_t i = first; i < end; ++i) {
    V* const row = matrix + i * size;
    const V to_pivot = row[k];
    if (i == k || !PathAlgebra::is_reachable(to_pivot)) continue;
    for (int64_t j = 0; j < size; ++j) PathAlgebra::improve(row[j], joined<PathAlgebra>(to_pivot, pivot[j]));
  }
  return true;
}

}  // namespace

#define MPMML_WAYS(PathAlgebra)                                                                                    \
  MPMML_CLONES void relax(PathAlgebra, PathAlgebra::Value* table, const int32_t* from, int64_t sources,            \
                          const int32_t* to, int64_t targets, const PathAlgebra::Value* weights, int64_t stride) { \
    relax_all<PathAlgebra>(table, from, sources, to, targets, weights, stride);                                    \
  }                                                                                                                \
  MPMML_CLONES bool eliminate(PathAlgebra, PathAlgebra::Value* matrix, int64_t size, int64_t pivot, int64_t first, \
                              int64_t end) {                                                                       \
    return eliminate_supernode<PathAlgebra>(matrix, size, pivot, first, end);                                      \
  }

MPMML_FOR_EACH_WAYS(MPMML_WAYS)

}  // namespace mpmml::graph
