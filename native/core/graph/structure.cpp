#include "core/graph/structure.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/graph/components.h"
#include "core/graph/query_error.h"
#include "core/graph/rows.h"

namespace mpmml::graph {
namespace {

constexpr Rules kLinkRules{Extension::kLinks, true, 0};

/// Disjoint sets of nodes (union-find). R. Tarjan, Efficiency of a good but not linear set union algorithm, Journal of
/// the ACM 22 (1975).
class Sets {
 public:
  explicit Sets(int32_t nodes) : above_(nodes), size_(nodes, 1) { std::iota(above_.begin(), above_.end(), 0); }

  int32_t find(int32_t node) {
    while (above_[node] != node) node = above_[node] = above_[above_[node]];
    return node;
  }
  /// Joins the sets of two nodes. Returns whether they were different.
  bool join(int32_t a, int32_t b) {
    a = find(a);
    b = find(b);
    if (a == b) return false;
    if (size_[a] < size_[b]) std::swap(a, b);
    above_[b] = a;
    size_[a] += size_[b];
    return true;
  }

 private:
  Array<int32_t> above_, size_;
};

/// Returns the members of each component, from the component of each node.
ComponentMembers members_of(Array<int32_t> of, int32_t count) {
  ComponentMembers parts;
  parts.start.assign(static_cast<size_t>(count) + 1, 0);
  for (const int32_t component : of) ++parts.start[static_cast<size_t>(component) + 1];
  std::partial_sum(parts.start.begin(), parts.start.end(), parts.start.begin());
  parts.members = Array<int32_t>(of.size());
  std::vector<int32_t> next = parts.start;
  for (int64_t node = 0; node < of.size(); ++node) {
    parts.members[next[static_cast<size_t>(of[node])]++] = static_cast<int32_t>(node);
  }
  parts.of = std::move(of);
  return parts;
}

/// Returns a cycle among nodes each of which has an edge from another of them.
QueryError cycle_among(const Source& source, const Array<int32_t>& left, const CancellationToken& watch) {
  const auto rows = make_rows<NoKey>(source, kLinkRules, Direction::kBackward, watch);
  int32_t node = 0;
  while (left[node] == 0) ++node;
  Array<int32_t> place(source.nodes, -1);
  std::vector<int32_t> walk;
  ProgressReporter reporter(watch, 0, 0);
  while (place[node] < 0) {
    place[node] = static_cast<int32_t>(walk.size());
    walk.push_back(node);
    reporter.count(rows.degree(node) + 1);
    for (auto edge = rows.begin(node); edge != rows.end(node); ++edge) {
      if (left[edge->to] == 0) continue;
      node = edge->to;
      break;
    }
  }
  QueryError refusal{RefusalKind::kCycle};
  // The walk went against the edges.
  refusal.cycle.assign(walk.rbegin(), walk.rend() - place[node]);
  return refusal;
}

}  // namespace

ComponentMembers strong_components(const Source& source, const CancellationToken& watch) {
  const auto rows = make_rows<NoKey>(source, kLinkRules, Direction::kForward, watch);
  Components found = components_of(rows, {nullptr, source.nodes}, nullptr, watch);
  for (int32_t& component : found.of) component = found.count - 1 - component;
  return members_of(std::move(found.of), found.count);
}

ComponentMembers weak_components(const Source& source, const CancellationToken& watch) {
  const auto rows = make_rows<NoKey>(source, kLinkRules, Direction::kForward, watch);
  Sets sets(source.nodes);
  ProgressReporter reporter(watch, 0, 0);
  for (int32_t i = 0; i < source.nodes; ++i) {
    for (auto edge = rows.begin(i); edge != rows.end(i); ++edge) sets.join(i, edge->to);
    reporter.count(rows.degree(i) + 1);
  }
  Array<int32_t> number(source.nodes, -1), of(source.nodes);
  int32_t count = 0;
  for (int32_t i = 0; i < source.nodes; ++i) {
    int32_t& own = number[sets.find(i)];
    if (own < 0) own = count++;
    of[i] = own;
  }
  return members_of(std::move(of), count);
}

Array<int32_t> topological_order(const Source& source, const CancellationToken& watch) {
  const auto rows = make_rows<NoKey>(source, kLinkRules, Direction::kForward, watch);
  // Number of edges that enter each node from nodes that aren't in the order.
  Array<int32_t> left(source.nodes, 0);
  ProgressReporter reporter(watch, 0, 0);
  for (const auto& edge : rows.edges) {
    ++left[edge.to];
    reporter.count(1);
  }
  Array<int32_t> order(source.nodes);
  int64_t count = 0;
  for (int32_t i = 0; i < source.nodes; ++i) {
    if (left[i] == 0) order[count++] = i;
  }
  for (int64_t at = 0; at < count; ++at) {
    const int32_t i = order[at];
    for (auto edge = rows.begin(i); edge != rows.end(i); ++edge) {
      if (--left[edge->to] == 0) order[count++] = edge->to;
    }
    reporter.count(rows.degree(i) + 1);
  }
  if (count < source.nodes) throw cycle_among(source, left, watch);
  return order;
}

std::vector<int64_t> spanning_tree(const Source& source, const Rules& rules, const CancellationToken& watch) {
  // Checks the edges.
  make_rows<NoKey>(source, rules, Direction::kForward, watch);
  std::vector<int64_t> tree;
  Sets sets(source.nodes);
  const auto nodes = static_cast<uint32_t>(source.nodes);
  with_weights(source.type, [&](auto type) {
    using Weight = std::decay_t<decltype(*type)>;
    // Weights are stored next to indices, because sorting indices alone would access weights at random.
    struct Weighted {
      Weight weight;
      uint32_t edge;
    };
    const auto* const weights = static_cast<const Weight*>(source.weights);
    const auto zero = static_cast<Weight>(source.zero);
    std::vector<Weighted> order;
    ProgressReporter reporter(watch, 0, 0);
    for (int64_t e = 0; e < source.edges; ++e) {
      reporter.count(1);
      if (weights[e] != zero) order.push_back({weights[e], static_cast<uint32_t>(e)});
    }
    std::sort(order.begin(), order.end(), [&](const Weighted& a, const Weighted& b) {
      reporter.count(1);
      if (a.weight != b.weight) return rules.maximizes ? a.weight > b.weight : a.weight < b.weight;
      return a.edge < b.edge;
    });
    watch.look();
    for (const auto& [weight, e] : order) {
      reporter.count(1);
      const int32_t i = source.from[e], j = source.to[e];
      if (static_cast<uint32_t>(i) < nodes && static_cast<uint32_t>(j) < nodes && sets.join(i, j)) tree.push_back(e);
      if (tree.size() + 1 == nodes) break;
    }
  });
  std::sort(tree.begin(), tree.end());
  return tree;
}

}  // namespace mpmml::graph
