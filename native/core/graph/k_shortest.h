// The shortest paths from one node to another that pass no node twice, the shortest first.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/progress.h"
#include "core/graph/rules.h"
#include "core/graph/search.h"
#include "core/graph/source.h"

namespace mpmml::graph {

struct RankedPath {
  double length;
  std::vector<int32_t> nodes;
};

struct RankedQuery {
  Source source;
  DataType type;
  int32_t from, to;
  int64_t most;
  std::optional<double> limit;  ///< no longer ones
  CancellationToken watch;
};

/// At most `most` of them; of equally long ones that first whose nodes are first in lexicographic order, as far as they are
/// known. J. Y. Yen, Finding the k shortest loopless paths in a network, Management Science 17 (1971); E. L. Lawler's way
/// of looking at each deviation once. Throws Refusal, also for floats of which one is negative.
std::vector<RankedPath> k_shortest_paths(const RankedQuery& query, const ThreadPool& pool);

}  // namespace mpmml::graph
