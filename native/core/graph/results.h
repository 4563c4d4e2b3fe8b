// What searches write, and how they are dealt to threads.
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

/// Something that is wrong with what a search found, and where it is among all results.
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

/// Makes distances of keys.
template <class Value>
class Storing {
 public:
  Storing(const Query& query, FirstOverflow& overflow) : query_(query), overflow_(overflow) {}

  /// The distance between a root and an end, by their indices, between which there is a path.
  template <class Key>
  Value value(Key key, int64_t root, int64_t end) {
    if constexpr (std::is_same_v<Value, uint8_t>) {
      return 1;
    } else if constexpr (std::is_floating_point_v<Value>) {
      // A subtraction, and an addition, because zero has no sign.
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

/// Reduces the keys of the ends that a root reaches, itself left out, to what the query wants.
class Reducing {
 public:
  explicit Reducing(const Query& query)
      : query_(query), keeps_nearest_(query.results.reduction == Reduction::kNearest) {}

  /// Begins another root.
  void begin();
  void add(double key, int32_t node) {
    if (keeps_nearest_) return add_near({key, node});
    ++count_;
    sum_ += key;
    worst_ = std::max(worst_, key);
  }
  /// Writes it as that of the root with this index.
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
  std::vector<Found> nearest_;  ///< a heap: the farthest on top
};

/// The nodes after the root on the paths of a tree.
class FirstNodes {
 public:
  explicit FirstNodes(int32_t nodes) : first_(nodes), chain_(nodes) {}

  /// Begins another tree.
  void begin() { first_.fill(-1); }

  /// That on the path to `end`, by the nodes before each; -1 if there is none.
  int32_t of(int32_t root, int32_t end, const Array<int32_t>& before);

 private:
  Array<int32_t> first_, chain_;  ///< nodes after the root, and nodes whose one is looked for
};

/// Does one part after the other.
using Worker = std::function<void(int64_t part)>;

/// Deals parts to at most `max_workers` threads. Each thread has a worker, which `make_worker` makes. The exception of the first part
/// that fails is thrown, whatever the number of threads.
void deal(const ThreadPool& pool, int64_t max_workers, int64_t parts, const std::function<Worker()>& make_worker);

/// For so many of the searches, each of which looks at `size` nodes and edges, about.
inline ProgressReporter reporter_of(const Query& query, int64_t searches, int64_t size) {
  const double of_each = 1 / static_cast<double>(query.roots.count);
  return {query.watch, of_each / static_cast<double>(size), of_each * static_cast<double>(searches)};
}

}  // namespace mpmml::graph
