// Why a question about a graph has no answer: what lib makes an error of, in the user's words.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "generated/enumerators.h"

namespace mpmml::graph {

struct QueryError {
  RefusalKind kind;
  int64_t at = -1;  ///< the index of an edge in its list, or row · nodes + column in a matrix
  int32_t from = -1, to = -1;
  double value = 0;
  std::vector<int32_t> cycle{};  ///< its nodes in order, in the direction of the rows
  std::vector<double> keys{};    ///< of its edges
};

}  // namespace mpmml::graph
