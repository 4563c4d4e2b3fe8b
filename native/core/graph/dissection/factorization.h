// Elimination of the nodes of a graph, supernode by supernode. B. Carré, An algebra for network routing problems, IMA
// Journal of Applied Mathematics 7 (1971); P. Sao, R. Kannan, P. Gera, R. Vuduc, A supernodal all-pairs shortest path
// algorithm, PPoPP 2020.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/dissection/elimination_order.h"
#include "core/graph/path_algebra.h"
#include "core/graph/progress.h"
#include "core/graph/rows.h"

namespace mpmml::graph {

/// Values of the paths between a supernode with s nodes and its border of b nodes, through the supernode and its
/// descendants.
template <class V>
struct SupernodeFactor {
  Array<V> out;  ///< s × (s + b): paths from its nodes to its nodes and to the border
  Array<V> in;   ///< b × s: paths from the border to its nodes
};

/// Eliminates a graph in a given order. The result is empty if a cycle improves.
template <class PathAlgebra, class Key>
class Eliminating {
 public:
  using V = typename PathAlgebra::Value;

  Eliminating(const Rows<Key>& rows, const Rows<Key>& back, const Ordering& ordering, const ThreadPool& pool,
              const CancellationToken& watch)
      : rows_(rows), back_(back), ordering_(ordering), pool_(pool), watch_(watch) {}

  std::vector<SupernodeFactor<V>> make() {
    const auto& supernodes = ordering_.supernodes;
    const size_t count = supernodes.size();
    made_.resize(count);
    updates_.resize(count);
    below_.resize(count);
    std::vector<int32_t> height(count, 0);
    std::vector<std::vector<int32_t>> levels;
    for (size_t at = 0; at < count; ++at) {
      const int32_t parent = supernodes[at].parent;
      if (parent >= 0) {
        below_[parent].push_back(static_cast<int32_t>(at));
        height[parent] = std::max(height[parent], height[at] + 1);
      }
      if (levels.size() <= static_cast<size_t>(height[at])) levels.resize(height[at] + size_t{1});
      levels[height[at]].push_back(static_cast<int32_t>(at));
    }
    for (const auto& level : levels) {
      pool_.for_each(static_cast<int64_t>(level.size()), [&](int64_t at) {
        watch_.look();
        if (!gains_.load(std::memory_order_relaxed) && !eliminate_supernode(level[at])) gains_.store(true);
      });
      if (gains_.load()) return {};
    }
    return std::move(made_);
  }

 private:
  /// Eliminates one supernode. Returns false if a cycle improves.
  bool eliminate_supernode(int32_t index) {
    const Supernode& own = ordering_.supernodes[index];
    const auto size = static_cast<int64_t>(own.places.size());
    const int64_t pivots = own.size(), border = own.border();
    ProgressReporter reporter(watch_, 0, 0);
    Array<V> front(size * size);
    for (int64_t i = 0; i < size; ++i) {
      std::fill_n(front.data() + i * size, size, PathAlgebra::unreached());
      reporter.count(size);
    }
    const auto improve = [&](int64_t i, int64_t j, V value) { PathAlgebra::improve(front[i * size + j], value); };
    const auto index_of = [&](int32_t place) -> int64_t {
      if (place < own.end) return int64_t{place} - own.first;
      return std::lower_bound(own.places.begin() + pivots, own.places.end(), place) - own.places.begin();
    };
    for (int64_t i = 0; i < pivots; ++i) {
      improve(i, i, PathAlgebra::start());
      const int32_t node = ordering_.node[own.first + i];
      for (auto edge = rows_.begin(node); edge != rows_.end(node); ++edge) {
        const int32_t to = ordering_.place[edge->to];
        if (to >= own.first) improve(i, index_of(to), way_along<PathAlgebra>(*edge));
      }
      for (auto edge = back_.begin(node); edge != back_.end(node); ++edge) {
        const int32_t from = ordering_.place[edge->to];
        if (from >= own.end) improve(index_of(from), i, way_along<PathAlgebra>(*edge));
      }
      reporter.count(rows_.degree(node) + back_.degree(node));
    }
    for (const int32_t child : below_[index]) add_update(child, own, front, reporter);
    const int64_t rows_at_once = std::max<int64_t>(1, kStepsBetweenLooks / size);
    for (int64_t pivot = 0; pivot < pivots; ++pivot) {
      for (int64_t first = 0; first < size; first += rows_at_once) {
        watch_.look();
        if (!eliminate(PathAlgebra(), front.data(), size, pivot, first, std::min(size, first + rows_at_once)))
          return false;
      }
    }
    SupernodeFactor<V>& made = made_[index];
    made.out = Array<V>(pivots * size);
    for (int64_t i = 0; i < pivots; ++i) {
      std::copy_n(front.data() + i * size, size, made.out.data() + i * size);
      reporter.count(size);
    }
    made.in = Array<V>(border * pivots);
    Array<V>& update = updates_[index] = Array<V>(border * border);
    for (int64_t i = 0; i < border; ++i) {
      const V* const row = front.data() + (pivots + i) * size;
      std::copy_n(row, pivots, made.in.data() + i * pivots);
      std::copy_n(row + pivots, border, update.data() + i * border);
      reporter.count(size);
    }
    return true;
  }

  /// Adds the fill edges between border nodes of a child to the front of the parent `own`, which contains all of these
  /// nodes.
  void add_update(int32_t child, const Supernode& own, Array<V>& front, ProgressReporter& reporter) {
    const Supernode& other = ordering_.supernodes[child];
    const int64_t border = other.border(), size = static_cast<int64_t>(own.places.size());
    std::vector<int64_t> at(border);
    int64_t found = 0;
    for (int64_t i = 0; i < border; ++i) {
      const int32_t place = other.places[other.size() + i];
      while (own.places[found] != place) ++found;
      at[i] = found;
    }
    const Array<V>& update = updates_[child];
    for (int64_t i = 0; i < border; ++i) {
      V* const row = front.data() + at[i] * size;
      const V* const improved = update.data() + i * border;
      for (int64_t j = 0; j < border; ++j) PathAlgebra::improve(row[at[j]], improved[j]);
      reporter.count(border);
    }
    updates_[child] = {};
  }

  const Rows<Key>& rows_;
  const Rows<Key>& back_;
  const Ordering& ordering_;
  const ThreadPool& pool_;
  const CancellationToken& watch_;
  std::vector<SupernodeFactor<V>> made_;
  std::vector<Array<V>> updates_;  ///< fill edges between border nodes of supernodes, until the parent adds them
  std::vector<std::vector<int32_t>> below_;
  std::atomic<bool> gains_{false};
};

}  // namespace mpmml::graph
