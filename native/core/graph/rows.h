// Compressed sparse rows (CSR) of graphs: outgoing or incoming edges of each node, stored contiguously.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/graph/array.h"
#include "core/graph/progress.h"
#include "core/graph/query_error.h"
#include "core/graph/rules.h"
#include "core/graph/source.h"

namespace mpmml::graph {

template <class Key>
struct Edge {
  int32_t to;
  Key key;
  Edge() = default;
  Edge(int32_t to, Key key) : to(to), key(key) {}
};

template <>
struct Edge<NoKey> {
  int32_t to;
  Edge() = default;
  Edge(int32_t to, NoKey) : to(to) {}
};

/// CSR of a graph. Edges of node i are `edges[start[i]]` up to `edges[start[i + 1]]`, exclusive.
template <class Key>
struct Rows {
  int32_t nodes = 0;
  Array<uint32_t> start;
  Array<Edge<Key>> edges;
  bool monotone = true;  ///< no edge can improve a path
  double largest = 0;    ///< largest absolute value of an integer key

  const Edge<Key>* begin(int32_t node) const { return edges.data() + start[node]; }
  const Edge<Key>* end(int32_t node) const { return edges.data() + start[node + 1]; }
  uint32_t degree(int32_t node) const { return start[node + 1] - start[node]; }
};

/// Validates edges during the count of rows, and records the first error of each kind.
class Checking {
 public:
  explicit Checking(const Rules& rules) : rules_(rules) {}

  template <class Weight>
  void weight(Weight weight, int64_t at) {
    if constexpr (std::is_floating_point_v<Weight>) {
      if (std::isnan(weight)) note(nan_, at);
      if (rules_.extension == Extension::kProduct && weight < 0) note(negative_, at);
    }
  }
  void from(int64_t at) { note(from_, at); }
  void to(int64_t at) { note(to_, at); }

  /// Throws QueryError for the first recorded error.
  void end() const {
    if (nan_ >= 0) throw QueryError{RefusalKind::kNan, nan_};
    if (from_ >= 0) throw QueryError{RefusalKind::kFrom, from_};
    if (to_ >= 0) throw QueryError{RefusalKind::kTo, to_};
    if (negative_ >= 0) throw QueryError{RefusalKind::kNegative, negative_};
  }

 private:
  static void note(int64_t& first, int64_t at) {
    if (first < 0) first = at;
  }

  const Rules& rules_;
  int64_t nan_ = -1, from_ = -1, to_ = -1, negative_ = -1;
};

template <class Key>
class RowsBuilder {
 public:
  RowsBuilder(const Source& source, const Rules& rules, Direction direction, const CancellationToken& watch)
      : source_(source), rules_(rules), forward_(direction == Direction::kForward), reporter_(watch, 0, 0) {}

  /// Builds the rows. Throws QueryError for an invalid graph.
  Rows<Key> make() {
    rows_.nodes = source_.nodes;
    rows_.start = Array<uint32_t>(int64_t{source_.nodes} + 1, 0);
    with_weights(source_.type, [&](auto type) { source_.is_list ? list(type) : matrix(type); });
    return std::move(rows_);
  }

 private:
  template <class Weight>
  void list(const Weight*) {
    const auto* const weights = static_cast<const Weight*>(source_.weights);
    const int32_t* const own = forward_ ? source_.from : source_.to;
    const int32_t* const other = forward_ ? source_.to : source_.from;
    const auto nodes = static_cast<uint32_t>(source_.nodes);
    const auto zero = static_cast<Weight>(source_.zero);
    const auto is_left_out = [&](int64_t e) { return weights && source_.has_zero && weights[e] == zero; };
    if (source_.edges > std::numeric_limits<uint32_t>::max()) throw QueryError{RefusalKind::kTooMany};
    Checking checking(rules_);
    uint32_t* const count = rows_.start.data() + 1;
    for (int64_t first = 0; first < source_.edges; first += kBetweenLooks) {
      const int64_t end = std::min(first + kBetweenLooks, source_.edges);
      for (int64_t e = first; e < end; ++e) {
        const auto i = static_cast<uint32_t>(own[e]), j = static_cast<uint32_t>(other[e]);
        if (weights) checking.weight(weights[e], e);
        if (i >= nodes || j >= nodes) {
          if (static_cast<uint32_t>(source_.from[e]) >= nodes) checking.from(e);
          if (static_cast<uint32_t>(source_.to[e]) >= nodes) checking.to(e);
        } else if (!is_left_out(e)) {
          ++count[i];
        }
      }
      reporter_.count(end - first);
    }
    checking.end();
    begin_rows();
    // Rows never exceed their counted sizes, even if the user illegally writes to the arrays meanwhile.
    Array<uint32_t> next(source_.nodes);
    std::copy(rows_.start.begin(), rows_.start.end() - 1, next.begin());
    for (int64_t first = 0; first < source_.edges; first += kBetweenLooks) {
      const int64_t end = std::min(first + kBetweenLooks, source_.edges);
      for (int64_t e = first; e < end; ++e) {
        const auto i = static_cast<uint32_t>(own[e]), j = static_cast<uint32_t>(other[e]);
        if (is_left_out(e) || i >= nodes || j >= nodes || next[i] >= rows_.start[i + 1]) continue;
        put(next[i]++, static_cast<int32_t>(j), weights ? weights[e] : Weight{});
      }
      reporter_.count(end - first);
    }
    for (uint32_t i = 0; i < nodes; ++i) fill(next[i], rows_.start[i + 1]);
  }

  template <class Weight>
  void matrix(const Weight*) {
    const auto* const weights = static_cast<const Weight*>(source_.weights);
    const int64_t row_stride = forward_ ? source_.row_stride : source_.col_stride;
    const int64_t col_stride = forward_ ? source_.col_stride : source_.row_stride;
    const int32_t nodes = source_.nodes;
    const auto zero = static_cast<Weight>(source_.zero);
    Checking checking(rules_);
    uint64_t all = 0;
    for (int32_t i = 0; i < nodes; ++i) {
      const Weight* element = weights + i * row_stride;
      uint32_t count = 0;
      for (int32_t j = 0; j < nodes; ++j, element += col_stride) {
        if (*element == zero) continue;
        ++count;
        checking.weight(*element, forward_ ? int64_t{i} * nodes + j : int64_t{j} * nodes + i);
      }
      rows_.start[int64_t{i} + 1] = count;
      all += count;
      if (all > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) throw QueryError{RefusalKind::kTooMany};
      reporter_.count(nodes);
    }
    checking.end();
    begin_rows();
    for (int32_t i = 0; i < nodes; ++i) {
      const Weight* element = weights + i * row_stride;
      uint32_t at = rows_.start[i];
      const uint32_t end = rows_.start[int64_t{i} + 1];
      for (int32_t j = 0; j < nodes && at < end; ++j, element += col_stride) {
        const Weight weight = *element;
        if (weight != zero) put(at++, j, weight);
      }
      fill(at, end);
      reporter_.count(nodes);
    }
  }

  /// Converts counts to row starts, and allocates the edges.
  void begin_rows() {
    uint32_t sum = 0;
    for (uint32_t& start : rows_.start) start = sum += start;
    rows_.edges = Array<Edge<Key>>(sum);
  }

  template <class Weight>
  void put(uint32_t at, int32_t to, Weight weight) {
    const Key key = edge_key<Key>(rules_, weight);
    if (edge_gains(rules_.extension, key)) rows_.monotone = false;
    if constexpr (std::is_integral_v<Key>) rows_.largest = std::max(rows_.largest, std::abs(static_cast<double>(key)));
    rows_.edges[at] = Edge<Key>(to, key);
  }

  /// Fills up a row with neutral self-loops if edges have disappeared since they were counted.
  void fill(uint32_t at, uint32_t end) {
    for (; at < end; ++at) rows_.edges[at] = Edge<Key>(0, Key{});
  }

  const Source& source_;
  const Rules& rules_;
  const bool forward_;
  ProgressReporter reporter_;
  Rows<Key> rows_;
};

template <class Key>
Rows<Key> make_rows(const Source& source, const Rules& rules, Direction direction, const CancellationToken& watch) {
  return RowsBuilder<Key>(source, rules, direction, watch).make();
}

}  // namespace mpmml::graph
