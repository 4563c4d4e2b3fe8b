#include "core/graph/dissection/elimination_order.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/graph/dissection/separator.h"

namespace mpmml::graph {
namespace {

/// Maximum number of nodes of a part that isn't dissected. Values from 8 to 48 make little difference to the time
/// of all pairs of a grid.
constexpr int32_t kMaxOfPart = 24;

/// Connected nodes that are still to be divided.
struct Part {
  std::vector<int32_t> nodes;
  int32_t parent;  ///< index of the innermost separator around it
};

/// A supernode before its position is known.
struct Piece {
  std::vector<int32_t> nodes;
  int32_t parent;
};

struct Divided {
  std::vector<int32_t> separator;
  std::vector<std::vector<int32_t>> parts;
};

/// Returns the connected components of the nodes whose `is_out` is 0. Sets `is_out` of all nodes to 1.
std::vector<std::vector<int32_t>> connected_components(const Neighbors& graph, std::vector<uint8_t>& is_out,
                                                       const CancellationToken& watch) {
  ProgressReporter reporter(watch, 0, 0);
  std::vector<std::vector<int32_t>> parts;
  for (int32_t root = 0; root < graph.nodes; ++root) {
    if (is_out[root]) continue;
    std::vector<int32_t> part{root};
    is_out[root] = 1;
    for (size_t at = 0; at < part.size(); ++at) {
      for (const int32_t* j = graph.begin(part[at]); j != graph.end(part[at]); ++j) {
        if (is_out[*j]) continue;
        is_out[*j] = 1;
        part.push_back(*j);
      }
      reporter.count(graph.end(part[at]) - graph.begin(part[at]) + 1);
    }
    std::sort(part.begin(), part.end(), [&](int32_t a, int32_t b) {
      reporter.count(1);
      return a < b;
    });
    parts.push_back(std::move(part));
  }
  return parts;
}

class NestedDissection {
 public:
  NestedDissection(const Neighbors& graph, int64_t max_entries, const ThreadPool& pool, const CancellationToken& watch)
      : graph_(graph), max_entries_(max_entries), pool_(pool), watch_(watch), local_(graph.nodes, -1) {}

  std::optional<Ordering> make() {
    std::vector<uint8_t> is_out(graph_.nodes, 0);
    std::vector<Part> parts;
    for (auto& nodes : connected_components(graph_, is_out, watch_)) parts.push_back({std::move(nodes), -1});
    while (!parts.empty()) {
      std::vector<Divided> divided(parts.size());
      std::atomic<bool> fails{false};
      pool_.for_each(static_cast<int64_t>(parts.size()), [&](int64_t at) {
        if (!fails.load(std::memory_order_relaxed) && !divide(parts[at].nodes, divided[at])) fails.store(true);
      });
      if (fails.load()) return std::nullopt;
      std::vector<Part> next;
      for (size_t at = 0; at < parts.size(); ++at) {
        const auto index = static_cast<int32_t>(pieces_.size());
        pieces_.push_back({std::move(divided[at].separator), parts[at].parent});
        for (auto& nodes : divided[at].parts) next.push_back({std::move(nodes), index});
      }
      parts = std::move(next);
    }
    return ordered();
  }

 private:
  /// Divides nodes by a separator. Returns false if the separator alone would exceed the limit of entries.
  bool divide(const std::vector<int32_t>& nodes, Divided& divided) {
    if (static_cast<int32_t>(nodes.size()) <= kMaxOfPart) {
      divided.separator = nodes;
      return true;
    }
    const Neighbors own = inner(nodes);
    // Half of the entries between s nodes are s² / 2.
    int64_t most = own.nodes;
    while (most * most / 2 > max_entries_) most = most * 7 / 8;
    std::vector<uint8_t> is_cut = find_separator(own, static_cast<int32_t>(most), watch_);
    if (is_cut.empty()) return false;
    for (int32_t i = 0; i < own.nodes; ++i) {
      if (!is_cut[i]) continue;
      divided.separator.push_back(nodes[i]);
      local_[nodes[i]] = -1;
    }
    divided.parts = connected_components(own, is_cut, watch_);
    for (auto& part : divided.parts) {
      for (int32_t& node : part) node = nodes[node];
    }
    return true;
  }

  /// Returns the subgraph of `nodes`, which are numbered in this order. Neighbours outside are in separators already.
  Neighbors inner(const std::vector<int32_t>& nodes) {
    const auto count = static_cast<int32_t>(nodes.size());
    for (int32_t at = 0; at < count; ++at) local_[nodes[at]] = at;
    int64_t most = 0;
    for (const int32_t node : nodes) most += graph_.end(node) - graph_.begin(node);
    Neighbors own;
    own.nodes = count;
    own.start = Array<int64_t>(int64_t{count} + 1, 0);
    own.list = Array<int32_t>(most);
    int64_t kept = 0;
    ProgressReporter reporter(watch_, 0, 0);
    for (int32_t at = 0; at < count; ++at) {
      for (const int32_t* j = graph_.begin(nodes[at]); j != graph_.end(nodes[at]); ++j) {
        if (local_[*j] >= 0) own.list[kept++] = local_[*j];
      }
      own.start[int64_t{at} + 1] = kept;
      reporter.count(graph_.end(nodes[at]) - graph_.begin(nodes[at]) + 1);
    }
    return own;
  }

  std::optional<Ordering> ordered() {
    const auto count = static_cast<int32_t>(pieces_.size());
    std::vector<std::vector<int32_t>> below(static_cast<size_t>(count) + 1);
    for (int32_t at = 0; at < count; ++at) below[pieces_[at].parent < 0 ? count : pieces_[at].parent].push_back(at);
    Ordering made;
    made.place = Array<int32_t>(graph_.nodes);
    made.node = Array<int32_t>(graph_.nodes);
    made.supernodes.reserve(count);
    std::vector<int32_t> number(count);
    // Postorder: a supernode comes after its descendants. An explicit stack replaces the recursion.
    std::vector<std::pair<int32_t, size_t>> open{{count, 0}};
    int32_t place = 0;
    ProgressReporter reporter(watch_, 0, 0);
    while (!open.empty()) {
      auto& [piece, at] = open.back();
      if (at < below[piece].size()) {
        const int32_t child = below[piece][at++];
        open.push_back({child, 0});
        continue;
      }
      const int32_t done = piece;
      open.pop_back();
      if (done == count) break;
      number[done] = static_cast<int32_t>(made.supernodes.size());
      Supernode supernode;
      supernode.first = place;
      for (const int32_t node : pieces_[done].nodes) {
        made.place[node] = place;
        made.node[place++] = node;
      }
      supernode.end = place;
      reporter.count(supernode.size());
      made.supernodes.push_back(std::move(supernode));
    }
    for (int32_t at = 0; at < count; ++at) {
      const int32_t parent = pieces_[at].parent;
      made.supernodes[number[at]].parent = parent < 0 ? -1 : number[parent];
    }
    if (!find_borders(made)) return std::nullopt;
    return made;
  }

  /// Determines the borders of supernodes. Returns false if the number of entries exceeds the limit.
  bool find_borders(Ordering& made) const {
    std::vector<std::vector<int32_t>> below(made.supernodes.size());
    std::vector<int32_t> seen(graph_.nodes, -1);
    ProgressReporter reporter(watch_, 0, 0);
    for (size_t at = 0; at < made.supernodes.size(); ++at) {
      Supernode& own = made.supernodes[at];
      const auto mark = static_cast<int32_t>(at);
      own.places.resize(own.size());
      std::iota(own.places.begin(), own.places.end(), own.first);
      const auto add = [&](int32_t place) {
        if (place < own.end || seen[place] == mark) return;
        seen[place] = mark;
        own.places.push_back(place);
      };
      for (int32_t place = own.first; place < own.end; ++place) {
        const int32_t node = made.node[place];
        for (const int32_t* j = graph_.begin(node); j != graph_.end(node); ++j) add(made.place[*j]);
        reporter.count(graph_.end(node) - graph_.begin(node));
      }
      for (const int32_t child : below[at]) {
        const Supernode& other = made.supernodes[child];
        std::for_each(other.places.begin() + other.size(), other.places.end(), add);
        reporter.count(other.border());
      }
      std::sort(own.places.begin() + own.size(), own.places.end());
      made.to_borders += int64_t{own.size()} * own.border();
      made.inside += int64_t{own.size()} * own.size();
      made.steps += own.size() * std::pow(static_cast<double>(own.places.size()), 2);
      if (made.to_borders + made.inside > max_entries_) return false;
      if (own.parent >= 0) below[own.parent].push_back(mark);
    }
    return true;
  }

  const Neighbors& graph_;
  const int64_t max_entries_;
  const ThreadPool& pool_;
  const CancellationToken& watch_;
  /// Number of a node in its part; -1 if it is in a separator. Parts are adjacent to separators only, so threads that
  /// divide different parts never access the same element.
  Array<int32_t> local_;
  std::vector<Piece> pieces_;
};

}  // namespace

std::optional<Ordering> dissect(const Neighbors& neighbors, int64_t max_entries, const ThreadPool& pool,
                                const CancellationToken& watch) {
  return NestedDissection(neighbors, max_entries, pool, watch).make();
}

}  // namespace mpmml::graph
