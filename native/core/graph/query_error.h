// Reason why a graph query has no result. TypeScript code converts it to an error in the user's terms.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "generated/enumerators.h"

namespace mpmml::graph {

struct QueryError {
  RefusalKind kind;
  int64_t at = -1;  ///< index of an edge in its list, or row · nodes + column in a matrix
  int32_t from = -1, to = -1;
  double value = 0;
  std::vector<int32_t> cycle{};  ///< nodes of the cycle in order, in the direction of the rows
  std::vector<double> keys{};    ///< keys of the cycle's edges
};

}  // namespace mpmml::graph
