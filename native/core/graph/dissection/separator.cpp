#include "core/graph/dissection/separator.h"

#include <algorithm>
#include <limits>

namespace mpmml::graph {
namespace {

/// Fraction of the nodes at each end of an order. These nodes are on the side of that end, or in the separator.
constexpr double kShareOfEnd = 0.3;

/// Returns distances from `root` in edges.
std::vector<int32_t> distances_from(const Neighbors& graph, int32_t root, std::vector<int32_t>& queue,
                                    ProgressReporter& reporter) {
  std::vector<int32_t> distance(graph.nodes, -1);
  queue.clear();
  queue.push_back(root);
  distance[root] = 0;
  for (size_t at = 0; at < queue.size(); ++at) {
    const int32_t i = queue[at];
    for (const int32_t* j = graph.begin(i); j != graph.end(i); ++j) {
      if (distance[*j] >= 0) continue;
      distance[*j] = distance[i] + 1;
      queue.push_back(*j);
    }
    reporter.count(graph.end(i) - graph.begin(i) + 1);
  }
  return distance;
}

/// Minimum vertex cut between two ends of a graph, by a maximum flow with node capacities of one. The search splits
/// each node into two states: where the flow enters, and where it leaves.
class MinVertexCut {
 public:
  enum Side : uint8_t { kMiddle, kSource, kSink };

  MinVertexCut(const Neighbors& graph, const CancellationToken& watch)
      : graph_(graph),
        reporter_(watch, 0, 0),
        side_(graph.nodes),
        used_(graph.nodes),
        before_(graph.nodes),
        level_(2 * static_cast<size_t>(graph.nodes)),
        next_(2 * static_cast<size_t>(graph.nodes)) {}

  /// Finds a minimum cut. Returns false if it has more than `most` nodes.
  bool find(const std::vector<int32_t>& order, int32_t most) {
    const auto count = static_cast<int32_t>(order.size());
    const int32_t of_end = std::max(1, static_cast<int32_t>(count * kShareOfEnd));
    std::fill(side_.begin(), side_.end(), kMiddle);
    std::fill(used_.begin(), used_.end(), uint8_t{0});
    std::fill(before_.begin(), before_.end(), kNone);
    for (int32_t at = 0; at < of_end; ++at) {
      side_[order[at]] = kSource;
      side_[order[count - 1 - at]] = kSink;
    }
    starts_.clear();
    for (int32_t at = 0; at < of_end; ++at) {
      const int32_t i = order[at];
      const bool leads_out =
          std::any_of(graph_.begin(i), graph_.end(i), [&](int32_t j) { return side_[j] != kSource; });
      if (leads_out) starts_.push_back(i);
    }
    int32_t flow = 0;
    while (make_levels()) {
      std::fill(next_.begin(), next_.end(), 0);
      for (const int32_t start : starts_) {
        if (!enters(start) || !advance(start)) continue;
        if (++flow > most) return false;
      }
    }
    return true;
  }

  /// Number of nodes in the cut, on the source's side and on the sink's side.
  struct Sizes {
    int32_t cut = 0, source = 0, sink = 0;
  };
  Sizes sizes() const {
    Sizes sizes;
    for (int32_t i = 0; i < graph_.nodes; ++i) {
      if (is_cut(i)) {
        ++sizes.cut;
      } else {
        ++(side_[i] == kSource || level_[out(i)] >= 0 ? sizes.source : sizes.sink);
      }
    }
    return sizes;
  }
  bool is_cut(int32_t i) const { return level_[in(i)] >= 0 && level_[out(i)] < 0; }

 private:
  static constexpr int32_t kNone = -1, kBegin = -2;

  static size_t in(int32_t node) { return 2 * static_cast<size_t>(node); }
  static size_t out(int32_t node) { return 2 * static_cast<size_t>(node) + 1; }
  static int32_t node_of(size_t state) { return static_cast<int32_t>(state / 2); }
  static bool is_out(size_t state) { return state % 2 == 1; }

  /// Returns whether flow can begin at this node of the source.
  bool enters(int32_t start) const { return !used_[start] || before_[start] != kBegin; }

  /// Calls `use` with the successors of a state, from index `from` on, until it returns true.
  template <class Use>
  bool each_after(size_t state, int32_t& from, Use use) const {
    const int32_t i = node_of(state);
    if (!is_out(state)) {
      if (from++ > 0) return false;
      if (!used_[i]) return use(out(i));
      return before_[i] >= 0 && use(out(before_[i]));
    }
    if (side_[i] == kSink) return false;
    const auto degree = static_cast<int32_t>(graph_.end(i) - graph_.begin(i));
    for (; from < degree; ++from) {
      const int32_t j = graph_.begin(i)[from];
      if (side_[j] != kSource && use(in(j))) return true;
    }
    if (from++ > degree || !used_[i]) return false;
    return use(in(i));
  }

  /// Computes the levels of states, their distances from the source. Returns whether the sink is reachable.
  bool make_levels() {
    std::fill(level_.begin(), level_.end(), -1);
    queue_.clear();
    const auto reach = [&](size_t state, int32_t level) {
      if (level_[state] >= 0) return;
      level_[state] = level;
      queue_.push_back(state);
    };
    for (const int32_t start : starts_) reach(in(start), 0);
    int32_t last = std::numeric_limits<int32_t>::max();
    for (size_t at = 0; at < queue_.size(); ++at) {
      const size_t state = queue_[at];
      if (level_[state] >= last) break;
      if (is_out(state) && side_[node_of(state)] == kSink) last = level_[state];
      int32_t from = 0;
      each_after(state, from, [&](size_t after) {
        reach(after, level_[state] + 1);
        return false;
      });
      reporter_.count(from);
    }
    return last < std::numeric_limits<int32_t>::max();
  }

  /// Augments the flow by one unit from `start` to the sink, along states of ascending levels. Returns whether a path
  /// exists.
  bool advance(int32_t start) {
    path_.assign(1, in(start));
    while (!path_.empty()) {
      const size_t state = path_.back();
      reporter_.count(1);
      if (is_out(state) && side_[node_of(state)] == kSink) {
        augment();
        return true;
      }
      const bool goes_on = each_after(state, next_[state], [&](size_t after) {
        if (level_[after] != level_[state] + 1) return false;
        path_.push_back(after);
        return true;
      });
      if (goes_on) continue;
      level_[state] = -1;
      path_.pop_back();
      // Dead ends aren't tried again.
      if (!path_.empty()) ++next_[path_.back()];
    }
    return false;
  }

  void augment() {
    before_[node_of(path_.front())] = kBegin;
    for (size_t at = 0; at + 1 < path_.size(); ++at) {
      const int32_t i = node_of(path_[at]), j = node_of(path_[at + 1]);
      if (is_out(path_[at])) {
        if (i == j) {
          used_[i] = 0;
          before_[i] = kNone;
        } else {
          before_[j] = i;
        }
      } else if (i == j) {
        used_[i] = 1;
      }
    }
  }

  const Neighbors& graph_;
  ProgressReporter reporter_;
  std::vector<Side> side_;
  std::vector<uint8_t> used_;
  std::vector<int32_t> before_;  ///< predecessor of a node on its flow path
  std::vector<int32_t> level_, next_;
  std::vector<int32_t> starts_;
  std::vector<size_t> queue_, path_;
};

}  // namespace

std::vector<uint8_t> find_separator(const Neighbors& graph, int32_t most, const CancellationToken& watch) {
  std::vector<int32_t> queue;
  ProgressReporter reporter(watch, 0, 0);
  const auto from = [&](int32_t root) { return distances_from(graph, root, queue, reporter); };
  // Two axes: from a to b, and from c to d, where c is far from a and b. The orders below combine them.
  from(0);
  const std::vector<int32_t> from_a = from(queue.back());
  const std::vector<int32_t> from_b = from(queue.back());
  int32_t c = 0;
  for (int32_t i = 1; i < graph.nodes; ++i) {
    if (std::min(from_a[i], from_b[i]) > std::min(from_a[c], from_b[c])) c = i;
  }
  const std::vector<int32_t> from_c = from(c);
  const std::vector<int32_t> from_d = from(queue.back());

  MinVertexCut cut(graph, watch);
  std::vector<uint8_t> best;
  double best_score = std::numeric_limits<double>::infinity();
  std::vector<int32_t> order(graph.nodes), key(graph.nodes);
  const int32_t factors[][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
  for (const auto& factor : factors) {
    for (int32_t i = 0; i < graph.nodes; ++i) {
      order[i] = i;
      key[i] = factor[0] * (from_a[i] - from_b[i]) + factor[1] * (from_c[i] - from_d[i]);
    }
    std::stable_sort(order.begin(), order.end(), [&](int32_t i, int32_t j) {
      reporter.count(1);
      return key[i] < key[j];
    });
    if (!cut.find(order, most)) continue;
    const MinVertexCut::Sizes sizes = cut.sizes();
    // The score prefers small cuts and balanced sides.
    const double score = sizes.cut / (1.0 + std::min(sizes.source, sizes.sink));
    if (score >= best_score) continue;
    best_score = score;
    best.resize(graph.nodes);
    for (int32_t i = 0; i < graph.nodes; ++i) best[i] = cut.is_cut(i);
  }
  return best;
}

}  // namespace mpmml::graph
