#include "core/graph/lanes.h"

#include "core/algebra/clones.h"

#define MPMML_INLINE static inline __attribute__((always_inline))

namespace mpmml::graph {
namespace {

typedef int32_t LaneVector __attribute__((vector_size(32), may_alias));
typedef int64_t WordVector __attribute__((vector_size(32)));

template <int vectors>
MPMML_INLINE int64_t relax_rows_of(int32_t* table, const Rows<int32_t>& rows, NodeQueue& waiting, int64_t most) {
  const auto row_of = [table](int32_t node) {
    return reinterpret_cast<LaneVector*>(table + int64_t{node} * (8 * vectors));
  };
  int64_t looked = 0;
  while (!waiting.empty() && looked < most) {
    const int32_t i = waiting.take();
    LaneVector own[vectors];
#pragma GCC unroll 4
    for (int part = 0; part < vectors; ++part) own[part] = row_of(i)[part];
    for (auto edge = rows.begin(i), end = rows.end(i); edge != end; ++edge) {
      LaneVector* const row = row_of(edge->to);
      const LaneVector weight = edge->key - LaneVector{};
      LaneVector best[vectors], changed{};
#pragma GCC unroll 4
      for (int part = 0; part < vectors; ++part) {
        const LaneVector candidate = own[part] + weight, known = row[part];
        const LaneVector is_better = candidate < known;
        best[part] = is_better ? candidate : known;
        changed |= is_better;
      }
      const auto words = reinterpret_cast<WordVector>(changed);
      if ((words[0] | words[1] | words[2] | words[3]) == 0) continue;
#pragma GCC unroll 4
      for (int part = 0; part < vectors; ++part) row[part] = best[part];
      waiting.add(edge->to);
    }
    looked += rows.degree(i) + 1;
  }
  return looked;
}

}  // namespace

MPMML_CLONES int64_t relax_waiting(int32_t* table, int vectors, const Rows<int32_t>& rows, NodeQueue& waiting,
                                   int64_t most) {
  if (vectors == 1) return relax_rows_of<1>(table, rows, waiting, most);
  if (vectors == 2) return relax_rows_of<2>(table, rows, waiting, most);
  return relax_rows_of<4>(table, rows, waiting, most);
}

}  // namespace mpmml::graph
