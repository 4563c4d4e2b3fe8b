// Best paths from roots to ends, by a search from each root or by dissection.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "core/algebra/operation.h"
#include "core/graph/components.h"
#include "core/graph/progress.h"
#include "core/graph/query_error.h"
#include "core/graph/rules.h"
#include "core/graph/source.h"
#include "generated/enumerators.h"

namespace mpmml::graph {

class Dissection;

/// Destinations of results in the user's arrays.
struct Results {
  void* distances = nullptr;
  int32_t* next = nullptr;   ///< first nodes after the sources; null if they aren't requested
  int32_t* trees = nullptr;  ///< consecutive trees; null if they follow from `next`, or aren't requested
  /// Strides of distances and next, in elements, between roots and between ends.
  int64_t root_stride = 0, end_stride = 0;
  /// Reduction over ends, if requested. Then only its results are written. They cover the ends that are reachable from
  /// a root, except the root itself. `reduced` is the worst value of a best path, or the mean of the values; NaN
  /// without any end. `reached` is the number of these ends.
  Reduction reduction = Reduction::kNone;
  double* reduced = nullptr;
  int32_t* reached = nullptr;
  /// For kNearest: maximum number of nearest ends of each root. Their values and node numbers are sorted by value, then
  /// by number; `reached` is their count. The remaining elements are the value of no path, and -1. Ends must be
  /// distinct.
  int64_t max_nearest = 0;
  int32_t* nearest = nullptr;
};

struct Query {
  Source source;
  Rules rules;
  DataType type;  ///< type of distances
  Direction direction;
  /// Start nodes of searches, and requested nodes: sources and targets, or targets and sources.
  Nodes roots, ends;
  std::optional<double> limit;  ///< paths with worse values are ignored
  OverflowPolicy overflow = OverflowPolicy::kThrow;
  double least = 0, most = 0;  ///< finite range of integers
  Results results;
  Method method = Method::kAuto;
  /// Duration in ms of an alternative method, with which dissection is compared instead of searches.
  std::optional<double> within;
  int64_t max_workers = 1;  ///< maximum number of threads, limited by memory
  int64_t memory = 0;       ///< maximum number of bytes for dissection
  /// Dissection that another query of this graph and these rules has computed; null: the graph is dissected if that
  /// saves time.
  std::shared_ptr<const Dissection> division{};
  /// If set, only the dissection of the graph is computed and stored here; null is stored if searches are faster.
  std::shared_ptr<const Dissection>* divided = nullptr;
  CancellationToken watch;
};

/// Searches a graph and writes the requested results, which don't depend on the number of threads. Returns the method,
/// never kAuto. Throws QueryError and Error.
Method search(const Query& query, const ThreadPool& pool);

}  // namespace mpmml::graph
