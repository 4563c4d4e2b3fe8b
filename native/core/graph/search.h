// Best paths from some nodes to some, by a search from each.
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

class Division;

/// Where results go: arrays of the user's.
struct Results {
  void* distances = nullptr;
  int32_t* next = nullptr;   ///< the nodes after the sources; null if they aren't asked for
  int32_t* trees = nullptr;  ///< the trees, one after the other; null if they follow from `next`, or aren't asked for
  /// Elements of distances and next from one root to the next, and from one end to the next.
  int64_t root_stride = 0, end_stride = 0;
  /// If there is a reduction, only this is written. Of the ends that a root reaches, itself left out, for each root: the value of
  /// the worst best path or the mean of them, NaN if there is none; and how many there are.
  Reduction reduction = Reduction::kNone;
  double* reduced = nullptr;
  int32_t* reached = nullptr;
  /// Of kNearest: for each root the values of so many ends, the best first and of equal ones that with the lower number, and the
  /// ends; then `reached` says how many there are, and the rest has the value of no path, and -1. Ends must be distinct.
  int64_t max_nearest = 0;
  int32_t* nearest = nullptr;
};

struct Query {
  Source source;
  Rules rules;
  DataType type;  ///< of distances
  Direction direction;
  /// Where searches begin, and which nodes they are to reach: sources and targets, or targets and sources.
  Nodes roots, ends;
  std::optional<double> limit;  ///< paths with worse values count as none
  OverflowPolicy overflow = OverflowPolicy::kThrow;
  double least = 0, most = 0;  ///< the finite range of integers
  Results results;
  Method method = Method::kAuto;
  /// The milliseconds that another way takes, with which dissection is compared in place of searches.
  std::optional<double> within;
  int64_t max_workers = 1;  ///< threads for which there is memory
  int64_t memory = 0;       ///< bytes that dissection may take
  /// What another query of the same graph and rules has divided; null: it is divided if that takes less time.
  std::shared_ptr<const Division> division{};
  /// If it is there, nothing else is written: the division of the graph; null if searches are to answer.
  std::shared_ptr<const Division>* divided = nullptr;
  CancellationToken watch;
};

/// Searches a graph and writes what is asked for, which don't depend on the number of threads. Gives how: never kAuto. Throws
/// Refusal and Error.
Method search(const Query& query, const ThreadPool& pool);

}  // namespace mpmml::graph
