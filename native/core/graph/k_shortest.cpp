#include "core/graph/k_shortest.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <utility>

#include "core/graph/components.h"
#include "core/graph/dijkstra.h"
#include "core/graph/potentials.h"
#include "core/graph/radix_heap.h"
#include "core/graph/results.h"
#include "core/graph/rows.h"

namespace mpmml::graph {
namespace {

/// A path with the index of its deviation node. Deviations at earlier nodes were searched from the path that it
/// deviates from (Lawler).
template <class Key>
struct Path {
  Key key;
  std::vector<int32_t> nodes;
  std::vector<Key> keys;  ///< key of the path's prefix up to each node
  size_t deviates = 0;

  bool operator<(const Path& other) const { return key != other.key ? key < other.key : nodes < other.nodes; }
};

/// Searches spur paths: best paths from a node to the target that avoid given nodes, and given first edges. Each thread
/// has one.
template <class K>
class SpurPathSearch {
 public:
  using Key = typename K::PathKey;

  SpurPathSearch(const Rows<typename K::EdgeKey>& rows, int32_t target, Key limit, const CancellationToken& watch)
      : rows_(rows),
        target_(target),
        limit_(limit),
        reporter_(watch, 0, 0),
        key_(rows.nodes, K::unreached()),
        before_(rows.nodes),
        avoided_(rows.nodes, 0) {}

  /// Returns the best path that shares the prefix of `path` up to the node with index `place`, and continues with none
  /// of the nodes `next`.
  std::optional<Path<Key>> find(const Path<Key>& path, size_t place, const std::vector<int32_t>& next) {
    const int32_t spur = path.nodes[place];
    for (size_t at = 0; at < place; ++at) avoided_[path.nodes[at]] = 1;
    reporter_.count(static_cast<int64_t>(place));
    frontier_.reset(path.keys[place]);
    note(spur, -1);
    key_[spur] = path.keys[place];
    frontier_.push({path.keys[place], spur});
    bool is_found = false;
    const auto settle = [&](Key, int32_t node) { return !(is_found = node == target_); };
    const auto may_reach = [&](int32_t from, int32_t to, Key) {
      if (avoided_[to] || (from == spur && std::find(next.begin(), next.end(), to) != next.end())) return false;
      note(to, from);
      return true;
    };
    finalize_in_order<K>(rows_, frontier_, key_, limit_, reporter_, settle, may_reach);
    std::optional<Path<Key>> found;
    if (is_found) found = path_to(path, place);
    for (const int32_t node : touched_) key_[node] = K::unreached();
    touched_.clear();
    for (size_t at = 0; at < place; ++at) avoided_[path.nodes[at]] = 0;
    return found;
  }

 private:
  void note(int32_t node, int32_t before) {
    if (key_[node] == K::unreached()) touched_.push_back(node);
    before_[node] = before;
  }

  Path<Key> path_to(const Path<Key>& path, size_t place) const {
    std::vector<int32_t> rest;
    for (int32_t node = target_; node >= 0; node = before_[node]) rest.push_back(node);
    Path<Key> found;
    found.key = key_[target_];
    found.deviates = place;
    found.nodes.assign(path.nodes.begin(), path.nodes.begin() + static_cast<std::ptrdiff_t>(place));
    found.keys.assign(path.keys.begin(), path.keys.begin() + static_cast<std::ptrdiff_t>(place));
    for (auto node = rest.rbegin(); node != rest.rend(); ++node) {
      found.nodes.push_back(*node);
      found.keys.push_back(key_[*node]);
    }
    return found;
  }

  const Rows<typename K::EdgeKey>& rows_;
  const int32_t target_;
  const Key limit_;
  ProgressReporter reporter_;
  Array<Key> key_;
  Array<int32_t> before_;
  Array<uint8_t> avoided_;
  std::vector<int32_t> touched_;
  RadixHeap<Key> frontier_;
};

template <class K>
class Ranking {
 public:
  using Key = typename K::PathKey;
  using Graph = Rows<typename K::EdgeKey>;

  Ranking(const RankedQuery& query, const Graph& rows, Key limit, const ThreadPool& pool)
      : query_(query), rows_(rows), limit_(limit), pool_(pool), searches_(static_cast<size_t>(pool.threads)) {}

  std::vector<Path<Key>> find() {
    std::vector<Path<Key>> found;
    const Path<Key> start{K::start(), {query_.from}, {K::start()}};
    if (auto best = search(0).find(start, 0, {})) candidates_.insert(*std::move(best));
    while (!candidates_.empty() && static_cast<int64_t>(found.size()) < query_.most) {
      found.push_back(std::move(candidates_.extract(candidates_.begin()).value()));
      query_.watch.add(1.0 / static_cast<double>(query_.most));
      if (static_cast<int64_t>(found.size()) < query_.most) deviate(found);
    }
    return found;
  }

 private:
  SpurPathSearch<K>& search(size_t thread) {
    auto& search = searches_[thread];
    if (!search) search = std::make_unique<SpurPathSearch<K>>(rows_, query_.to, limit_, query_.watch);
    return *search;
  }

  /// Adds the best deviations from the last result to the candidates, one for each of its nodes.
  void deviate(const std::vector<Path<Key>>& found) {
    const Path<Key>& path = found.back();
    const size_t count = path.nodes.size() - 1 - path.deviates;
    std::vector<std::optional<Path<Key>>> made(count);
    std::atomic<size_t> next_search{0};
    deal(pool_, pool_.threads, static_cast<int64_t>(count), [&] {
      return [&, &search = search(next_search.fetch_add(1))](int64_t part) {
        query_.watch.look();
        const auto at = static_cast<size_t>(part);
        made[at] = search.find(path, path.deviates + at, taken(found, path.deviates + at));
      };
    });
    for (auto& candidate : made) {
      if (candidate) candidates_.insert(*std::move(candidate));
    }
    // Candidates beyond the number of missing results are never used.
    while (static_cast<int64_t>(candidates_.size() + found.size()) > query_.most) {
      candidates_.erase(std::prev(candidates_.end()));
    }
  }

  /// Returns the nodes with which results continue that share the last result's prefix up to index `place`.
  std::vector<int32_t> taken(const std::vector<Path<Key>>& found, size_t place) const {
    ProgressReporter reporter(query_.watch, 0, 0);
    const Path<Key>& last = found.back();
    std::vector<int32_t> next;
    for (const Path<Key>& path : found) {
      reporter.count(static_cast<int64_t>(place) + 1);
      if (path.nodes.size() < place + 2) continue;
      if (std::equal(last.nodes.begin(), last.nodes.begin() + static_cast<std::ptrdiff_t>(place) + 1,
                     path.nodes.begin())) {
        next.push_back(path.nodes[place + 1]);
      }
    }
    return next;
  }

  const RankedQuery& query_;
  const Graph& rows_;
  const Key limit_;
  const ThreadPool& pool_;
  std::vector<std::unique_ptr<SpurPathSearch<K>>> searches_;
  std::set<Path<Key>> candidates_;
};

template <class K>
std::vector<RankedPath> ranked(const RankedQuery& query, const Rows<typename K::EdgeKey>& rows,
                               typename K::PathKey limit, typename K::PathKey offset, const ThreadPool& pool) {
  std::vector<RankedPath> paths;
  for (auto& path : Ranking<K>(query, rows, limit, pool).find()) {
    paths.push_back({static_cast<double>(path.key + offset), std::move(path.nodes)});
  }
  return paths;
}

using Integers = Keys<Extension::kSum, int32_t, int64_t>;
using Wide = Keys<Extension::kSum, int64_t, int64_t>;

/// Reweights integer edges, some of which are negative, by potentials: see potentials.h.
JohnsonGraph without_negative(const RankedQuery& query, const Rules& rules, const Rows<int32_t>& rows) {
  if (query.limit) throw QueryError{RefusalKind::kGains};
  const auto back = make_rows<int32_t>(query.source, rules, Direction::kBackward, query.watch);
  const Array<uint8_t> reaching = reached(back, {&query.to, 1}, query.watch);
  const Components components = components_of(rows, {&query.from, 1}, reaching.data(), query.watch);
  if (3 * rows.largest * rows.nodes > static_cast<double>(kMaxExact)) throw QueryError{RefusalKind::kInexact};
  return reweight<Integers>(rows, components, query.watch);
}

/// Uses the distances to the target as potentials. The reduced cost of an edge is then the length of the detour, so
/// that searches are directed towards the target.
JohnsonGraph reduced_costs(const RankedQuery& query, const Rules& rules, const Rows<int32_t>& rows) {
  const auto back = make_rows<int32_t>(query.source, rules, Direction::kBackward, query.watch);
  const RequestedNodes all;
  Dijkstra<Integers> dijkstra(back, all, false, Integers::unreached());
  ProgressReporter reporter(query.watch, 0, 0);
  dijkstra.search(query.to, reporter);
  Array<int64_t> potential = std::move(dijkstra.tree().key);
  Array<uint8_t> reaches(rows.nodes);
  for (int32_t node = 0; node < rows.nodes; ++node) {
    reaches[node] = potential[node] != Integers::unreached();
    if (reaches[node]) potential[node] = -potential[node];
  }
  return reweight_by(std::move(potential), rows, [&](int32_t node) { return reaches[node] != 0; }, query.watch);
}

std::vector<RankedPath> ranked_integers(const RankedQuery& query, const Rules& rules, const ThreadPool& pool) {
  Rows<int32_t> rows = make_rows<int32_t>(query.source, rules, Direction::kForward, query.watch);
  const JohnsonGraph reweighted =
      rows.monotone ? reduced_costs(query, rules, rows) : without_negative(query, rules, rows);
  rows = {};
  const int64_t offset = reweighted.potential[query.to] - reweighted.potential[query.from];
  // The target isn't reachable, so no potential exists.
  if (reweighted.potential[query.from] == Wide::unreached()) return {};
  const int64_t limit = limit_key<int64_t>(query.limit, false);
  // The subtraction below could overflow for such a low limit.
  if (query.limit && limit < offset) return {};
  return ranked<Wide>(query, reweighted.rows, query.limit ? limit - offset : limit, offset, pool);
}

}  // namespace

std::vector<RankedPath> k_shortest_paths(const RankedQuery& query, const ThreadPool& pool) {
  const Rules rules{Extension::kSum, false, query.source.zero};
  if (query.type == DataType::kInt32) return ranked_integers(query, rules, pool);
  const auto of_floats = [&](auto zero) {
    using Key = decltype(zero);
    const auto rows = make_rows<Key>(query.source, rules, Direction::kForward, query.watch);
    if (!rows.monotone) throw QueryError{RefusalKind::kGains};
    const Key limit = limit_key<Key>(query.limit, false);
    return limit < zero ? std::vector<RankedPath>()
                        : ranked<Keys<Extension::kSum, Key, Key>>(query, rows, limit, zero, pool);
  };
  return query.type == DataType::kFloat32 ? of_floats(0.0F) : of_floats(0.0);
}

}  // namespace mpmml::graph
