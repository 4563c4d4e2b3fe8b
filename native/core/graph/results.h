// Writers of search results, and the distribution of searches to threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <type_traits>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/query_error.h"
#include "core/graph/search.h"

namespace mpmml::graph {

/// First result that overflows, in the order of all results.
class FirstOverflow {
 public:
  void note(int64_t place, int32_t root, int32_t end, double value) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (place >= place_) return;
    place_ = place;
    found_ = {root, end, value};
  }
  void end(Direction direction) const {
    if (place_ == kNone) return;
    QueryError refusal{RefusalKind::kOverflow};
    refusal.from = direction == Direction::kForward ? found_.root : found_.end;
    refusal.to = direction == Direction::kForward ? found_.end : found_.root;
    refusal.value = found_.value;
    throw refusal;
  }

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  struct Found {
    int32_t root, end;
    double value;
  };

  std::mutex mutex_;
  int64_t place_ = kNone;
  Found found_{};
};

/// Converts keys to distances.
template <class Value>
class Storing {
 public:
  Storing(const Query& query, FirstOverflow& overflow) : query_(query), overflow_(overflow) {}

  /// Returns the distance between a root and an end, given by their indices, for the key of an existing path.
  template <class Key>
  Value value(Key key, int64_t root, int64_t end) {
    if constexpr (std::is_same_v<Value, uint8_t>) {
      return 1;
    } else if constexpr (std::is_floating_point_v<Value>) {
      // Subtraction and addition turn −0 into +0.
      return static_cast<Value>(query_.rules.maximizes ? 0 - key : key + 0);
    } else {
      const int64_t value = query_.rules.maximizes ? -static_cast<int64_t>(key) : static_cast<int64_t>(key);
      const auto least = static_cast<int64_t>(query_.least), most = static_cast<int64_t>(query_.most);
      if (query_.rules.extension != Extension::kSum || (value >= least && value <= most)) {
        return static_cast<Value>(value);
      }
      switch (query_.overflow) {
        case OverflowPolicy::kSaturate:
          return static_cast<Value>(value < least ? least : most);
        case OverflowPolicy::kWrap:
          return static_cast<Value>(static_cast<uint32_t>(static_cast<uint64_t>(value)));
        case OverflowPolicy::kThrow:
          break;
      }
      overflow_.note(root * query_.ends.count + end, query_.roots[root], query_.ends[end], static_cast<double>(value));
      return static_cast<Value>(query_.rules.zero);
    }
  }

 private:
  const Query& query_;
  FirstOverflow& overflow_;
};

/// Computes the query's reduction over the ends that are reachable from a root, except the root itself.
class Reducing {
 public:
  explicit Reducing(const Query& query)
      : query_(query), keeps_nearest_(query.results.reduction == Reduction::kNearest) {}

  /// Starts another root.
  void begin();
  void add(double key, int32_t node) {
    if (keeps_nearest_) return add_near({key, node});
    ++count_;
    sum_ += key;
    worst_ = std::max(worst_, key);
  }
  /// Writes the reduction of the root with this index.
  void write(int64_t index);

 private:
  struct Found {
    double key;
    int32_t node;
    bool operator<(const Found& other) const { return key < other.key || (key == other.key && node < other.node); }
  };

  void add_near(const Found& one);
  void write_nearest(int64_t index);
  double value_of(double key) const { return query_.rules.maximizes ? 0 - key : key + 0; }

  const Query& query_;
  const bool keeps_nearest_;
  int32_t count_ = 0;
  double sum_ = 0, worst_ = 0;
  std::vector<Found> nearest_;  ///< max-heap by distance
};

/// First nodes after the root on the paths of a tree.
class FirstNodes {
 public:
  explicit FirstNodes(int32_t nodes) : first_(nodes), chain_(nodes) {}

  /// Starts another tree.
  void begin() { first_.fill(-1); }

  /// Returns the first node on the path to `end`, from the predecessors `before`; -1 if no path exists.
  int32_t of(int32_t root, int32_t end, const Array<int32_t>& before);

 private:
  Array<int32_t> first_, chain_;  ///< first node of each node's path, and the chain of nodes without a known one
};

/// Processes one part after the other.
using Worker = std::function<void(int64_t part)>;

/// Distributes parts to at most `max_workers` threads. Each thread has a worker, created by `make_worker`. Throws the
/// exception of the first part that failed, regardless of the number of threads.
void deal(const ThreadPool& pool, int64_t max_workers, int64_t parts, const std::function<Worker()>& make_worker);

/// Returns a reporter for `searches` of the query's searches, each of which visits about `size` nodes and edges.
inline ProgressReporter reporter_of(const Query& query, int64_t searches, int64_t size) {
  const double of_each = 1 / static_cast<double>(query.roots.count);
  return {query.watch, of_each / static_cast<double>(size), of_each * static_cast<double>(searches)};
}

}  // namespace mpmml::graph
