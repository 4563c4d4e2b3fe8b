#include "core/graph/search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "core/graph/breadth_first.h"
#include "core/graph/dijkstra.h"
#include "core/graph/label_correcting.h"
#include "core/graph/potentials.h"
#include "core/graph/rows.h"
#include "core/problem/layout.h"

namespace mpmml::graph {
namespace {

Wanted wanted_of(const Query& query) {
  Wanted wanted;
  if (!query.ends.list) return wanted;
  wanted.is = Array<uint8_t>(query.source.nodes, 0);
  wanted.count = 0;
  for (int64_t at = 0; at < query.ends.count; ++at) {
    uint8_t& is = wanted.is[query.ends[at]];
    if (is) continue;
    is = 1;
    ++wanted.count;
  }
  return wanted;
}

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
    Refusal refusal{Refusal::kOverflow};
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

/// Writes the results of one root after another; each thread has one.
template <class Value>
class Writer {
 public:
  Writer(const Query& query, FirstOverflow& overflow)
      : query_(query), overflow_(overflow), distances_(static_cast<Value*>(query.results.distances)) {
    const bool chains = query.results.next && query.direction == Direction::kForward;
    if (!chains) return;
    first_ = Array<int32_t>(query.source.nodes);
    chain_ = Array<int32_t>(query.source.nodes);
  }

  /// `key_of` gives the key of a node, which is `unreached` if there is no path.
  template <class Key, class KeyOf>
  void write(int64_t index, const Array<int32_t>& before, Key unreached, KeyOf key_of) {
    const Results& results = query_.results;
    const int32_t root = query_.roots[index];
    if (!first_.empty()) first_.fill(-1);
    for (int64_t at = 0; at < query_.ends.count; ++at) {
      const int32_t end = query_.ends[at];
      const int64_t place = index * results.root_stride + at * results.end_stride;
      const Key key = key_of(end);
      distances_[place] = key == unreached ? static_cast<Value>(query_.rules.zero)
                                           : stored(key, root, end, index * query_.ends.count + at);
      if (!results.next) continue;
      results.next[place] = first_.empty() ? before[end] : first_of(root, end, before);
    }
    if (results.trees) std::copy(before.begin(), before.end(), results.trees + index * query_.source.nodes);
  }

 private:
  template <class Key>
  Value stored(Key key, int32_t root, int32_t end, int64_t place) {
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
        case Overflow::kSaturate:
          return static_cast<Value>(value < least ? least : most);
        case Overflow::kWrap:
          return static_cast<Value>(static_cast<uint32_t>(static_cast<uint64_t>(value)));
        case Overflow::kThrow:
          break;
      }
      overflow_.note(place, root, end, static_cast<double>(value));
      return static_cast<Value>(query_.rules.zero);
    }
  }

  /// The node after the root on the path to `end`; -1 if there is none.
  int32_t first_of(int32_t root, int32_t end, const Array<int32_t>& before) {
    int64_t length = 0;
    int32_t node = end;
    while (first_[node] < 0) {
      const int32_t above = before[node];
      if (above < 0) return -1;
      if (above == root) {
        first_[node] = node;
        break;
      }
      chain_[length++] = node;
      node = above;
    }
    const int32_t found = first_[node];
    for (int64_t at = 0; at < length; ++at) first_[chain_[at]] = found;
    return found;
  }

  const Query& query_;
  FirstOverflow& overflow_;
  Value* const distances_;
  Array<int32_t> first_, chain_;  ///< nodes after the root, and nodes whose one is looked for
};

/// Deals parts of the roots to threads. Each thread has a worker, which `make_worker` makes, that does one part after the
/// other. What is thrown is what the first of the parts that fail throws, whatever the number of threads.
template <class MakeWorker>
void deal(const Query& query, const Crew& crew, int64_t parts, MakeWorker make_worker) {
  std::atomic<int64_t> next{0}, end{parts};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto fail = [&](int64_t part) {
    std::lock_guard<std::mutex> lock(mutex);
    if (part >= end.load()) return;
    end.store(part);
    failure = std::current_exception();
  };
  const auto work = [&](int64_t) {
    int64_t part = next.fetch_add(1);
    if (part >= end.load()) return;
    try {
      auto worker = make_worker();
      for (; part < end.load(); part = next.fetch_add(1)) worker(part);
    } catch (...) {
      fail(part);
    }
  };
  const int64_t threads = std::min({int64_t{crew.threads}, parts, query.most_workers});
  threads > 1 ? crew.for_each(threads, work) : work(0);
  if (failure) std::rethrow_exception(failure);
}

/// For so many of the searches, each of which looks at `size` nodes and edges, about.
Looker looker_of(const Query& query, int64_t searches, int64_t size) {
  const double of_each = 1 / static_cast<double>(query.roots.count);
  return {query.watch, of_each / static_cast<double>(size), of_each * static_cast<double>(searches)};
}

template <class Key>
int64_t size_of(const Rows<Key>& rows) {
  return rows.nodes + rows.edges.size();
}

/// A part is one root. `make_search` makes what finds a tree from a root, and looks at `size` nodes and edges for that.
template <class Value, class K, class MakeSearch>
void search_each(const Query& query, const Crew& crew, int64_t size, MakeSearch make_search) {
  FirstOverflow overflow;
  deal(query, crew, query.roots.count, [&] {
    return [&query, size, search = make_search(),
            writer = std::make_unique<Writer<Value>>(query, overflow)](int64_t part) mutable {
      Looker looker = looker_of(query, 1, size);
      const auto& tree = search->find(query.roots[part], looker);
      writer->write(part, tree.before, K::unreached(), [&](int32_t node) { return search->key(node); });
      looker.end();
    };
  });
  // Last, because a cycle that gains is the worse news, as it is of a closure.
  overflow.end(query.direction);
}

template <class K>
typename K::PathKey limit_of(const Query& query) {
  return limit_key<typename K::PathKey>(query.limit, query.rules.maximizes);
}

template <class K>
struct MonotoneSearch {
  Dijkstra<K> dijkstra;
  const Wanted& wanted;

  const Tree<typename K::PathKey>& find(int32_t root, Looker& looker) {
    dijkstra.search(root, wanted, looker);
    return dijkstra.tree();
  }
  typename K::PathKey key(int32_t node) { return dijkstra.tree().key[node]; }
};

template <class K, class Value>
void search_monotone(const Query& query, const Crew& crew, const Rows<typename K::EdgeKey>& rows) {
  const Wanted wanted = wanted_of(query);
  search_each<Value, K>(query, crew, size_of(rows), [&] {
    const bool keeps_tree = query.results.next || query.results.trees;
    return std::unique_ptr<MonotoneSearch<K>>(
        new MonotoneSearch<K>{Dijkstra<K>(rows, keeps_tree, limit_of<K>(query)), wanted});
  });
}

/// As MonotoneSearch, with the keys that paths have in the graph as it was.
template <class K>
struct ReweightedSearch {
  Dijkstra<K> dijkstra;
  const Wanted& wanted;
  const Array<int64_t>& potential;
  int32_t root = 0;

  const Tree<typename K::PathKey>& find(int32_t from, Looker& looker) {
    root = from;
    dijkstra.search(from, wanted, looker);
    return dijkstra.tree();
  }
  int64_t key(int32_t node) {
    const auto own = dijkstra.tree().key[node];
    return own == K::unreached() ? std::numeric_limits<int64_t>::max() : own + potential[node] - potential[root];
  }
};

template <class Value>
void search_reweighted(const Query& query, const Crew& crew, const Reweighted& reweighted) {
  using K = Keys<Extension::kSum, int64_t, int64_t>;
  const Wanted wanted = wanted_of(query);
  search_each<Value, K>(query, crew, size_of(reweighted.rows), [&] {
    const bool keeps_tree = query.results.next || query.results.trees;
    return std::unique_ptr<ReweightedSearch<K>>(new ReweightedSearch<K>{
        Dijkstra<K>(reweighted.rows, keeps_tree, K::unreached()), wanted, reweighted.potential});
  });
}

template <class K>
struct CorrectingSearch {
  LabelCorrecting<K> labels;

  const Tree<typename K::PathKey>& find(int32_t root, Looker& looker) {
    labels.search(root, looker);
    return labels.tree();
  }
  typename K::PathKey key(int32_t node) { return labels.tree().key[node]; }
};

/// `rows` are let go of as soon as there are others in their place.
template <class K, class Value>
void search_correcting(const Query& query, const Crew& crew, Rows<typename K::EdgeKey> rows) {
  if (query.limit) throw Refusal{Refusal::kGains};
  // A cycle from which no asked node is reached makes nothing better that was asked for.
  Array<uint8_t> reaching;
  if (query.ends.list) {
    const auto back = make_rows<typename K::EdgeKey>(query.source, query.rules, opposite(query.direction), query.watch);
    reaching = reached(back, query.ends, query.watch);
  }
  const Components components =
      components_of(rows, query.roots, query.ends.list ? reaching.data() : nullptr, query.watch);
  if constexpr (K::is_exact) {
    if (potentials_pay(rows.nodes, rows.largest, components, query.roots.count)) {
      const Reweighted reweighted = reweight<K>(rows, components, query.watch);
      rows = {};
      return search_reweighted<Value>(query, crew, reweighted);
    }
  }
  search_each<Value, K>(query, crew, size_of(rows), [&] {
    return std::unique_ptr<CorrectingSearch<K>>(new CorrectingSearch<K>{LabelCorrecting<K>(rows, components)});
  });
}

template <class K, class Value>
void search_keyed(const Query& query, const Crew& crew) {
  auto rows = make_rows<typename K::EdgeKey>(query.source, query.rules, query.direction, query.watch);
  if constexpr (K::is_exact) {
    using Narrow = Keys<Extension::kSum, int32_t, int32_t>;
    const bool fits = rows.largest * std::max(query.source.nodes - 1, 0) < std::numeric_limits<int32_t>::max();
    if (rows.monotone && fits) return search_monotone<Narrow, Value>(query, crew, rows);
  }
  if constexpr (K::extension == Extension::kBottleneck) {
    search_monotone<K, Value>(query, crew, rows);
  } else {
    if (rows.monotone) return search_monotone<K, Value>(query, crew, rows);
    search_correcting<K, Value>(query, crew, std::move(rows));
  }
}

struct LinkSearch {
  BreadthFirst<NoKey> first;
  const Wanted& wanted;

  const Tree<uint8_t>& find(int32_t root, Looker& looker) {
    first.search(root, wanted, looker);
    return first.tree();
  }
  uint8_t key(int32_t node) { return first.tree().key[node]; }
};

struct LinkKeys {
  static constexpr uint8_t unreached() { return 1; }
};

void search_links(const Query& query, const Crew& crew) {
  const Rows<NoKey> rows = make_rows<NoKey>(query.source, query.rules, query.direction, query.watch);
  if (query.results.next || query.results.trees) {
    const Wanted wanted = wanted_of(query);
    return search_each<uint8_t, LinkKeys>(query, crew, size_of(rows), [&] {
      return std::unique_ptr<LinkSearch>(new LinkSearch{BreadthFirst<NoKey>(rows), wanted});
    });
  }
  constexpr int64_t kRoots = Together<NoKey>::kRoots;
  auto* const distances = static_cast<uint8_t*>(query.results.distances);
  const Results& results = query.results;
  deal(query, crew, ceil_div(query.roots.count, kRoots), [&] {
    return [&, together = std::make_unique<Together<NoKey>>(rows)](int64_t part) {
      const int64_t first = part * kRoots, count = std::min(kRoots, query.roots.count - first);
      Looker looker = looker_of(query, count, size_of(rows) * count);
      together->search(query.roots, first, count, looker);
      for (int64_t at = 0; at < query.ends.count; ++at) {
        const uint64_t reaching = together->reaching(query.ends[at]);
        uint8_t* const place = distances + first * results.root_stride + at * results.end_stride;
        for (int64_t root = 0; root < count; ++root) place[root * results.root_stride] = reaching >> root & 1;
      }
      looker.end();
    };
  });
}

}  // namespace

void search(const Query& query, const Crew& crew) {
  if (query.roots.count == 0 || query.ends.count == 0) return;
  using E = Extension;
  const auto of_type = [&](auto kind) {
    constexpr Extension extension = decltype(kind)::value;
    if (query.type == ValueType::kFloat32) return search_keyed<Keys<extension, float, float>, float>(query, crew);
    if (query.type == ValueType::kFloat64) return search_keyed<Keys<extension, double, double>, double>(query, crew);
    if constexpr (extension != E::kProduct) search_keyed<Keys<extension, int32_t, int64_t>, int32_t>(query, crew);
  };
  switch (query.rules.extension) {
    case E::kSum:
      return of_type(std::integral_constant<E, E::kSum>());
    case E::kProduct:
      return of_type(std::integral_constant<E, E::kProduct>());
    case E::kBottleneck:
      return of_type(std::integral_constant<E, E::kBottleneck>());
    case E::kLinks:
      return search_links(query, crew);
  }
}

}  // namespace mpmml::graph
