// The k shortest simple paths between two nodes, in ascending order.
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
  std::optional<double> limit;  ///< maximum length of a path
  CancellationToken watch;
};

/// Returns at most `most` paths. Equally long paths are in lexicographic order of their nodes, among the known
/// candidates. Yen's algorithm (J. Y. Yen, Finding the k shortest loopless paths in a network, Management Science 17
/// (1971)) with E. L. Lawler's modification, which searches each deviation once. Throws QueryError, also for negative
/// floats.
std::vector<RankedPath> k_shortest_paths(const RankedQuery& query, const ThreadPool& pool);

}  // namespace mpmml::graph
