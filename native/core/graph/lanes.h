// Path lengths from many roots at once by vectorized label correcting: a row of lanes for each node, one lane for each
// root.
//
// A queue contains the nodes with an improved lane, whose edges are relaxed in vectors. Graphs without small separators
// have short paths, so that each node is queued only a few times: 6 times with 3000 nodes and 22 000 edges. There a
// search from 25 roots takes as long as 10 searches by Dijkstra's algorithm (AVX2, EPYC).
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/graph/array.h"
#include "core/graph/components.h"
#include "core/graph/path_algebra.h"
#include "core/graph/preorder.h"
#include "core/graph/progress.h"
#include "core/graph/rows.h"

namespace mpmml::graph {

/// Relaxes edges of queued nodes until the queue is empty, or about `most` edges have been relaxed. Returns the number
/// of relaxed edges. The table has rows of 8 · `vectors` lengths at multiples of 32 bytes. `vectors` is 1, 2 or 4.
int64_t relax_waiting(int32_t* table, int vectors, const Rows<int32_t>& rows, NodeQueue& waiting, int64_t most);

class Lanes {
 public:
  using PathAlgebra = Lengths<int32_t>;
  static constexpr int64_t kMost = 32;

  static constexpr int vectors_of(int64_t lanes) { return lanes <= 8 ? 1 : lanes <= 16 ? 2 : 4; }
  static constexpr int64_t bytes(int64_t nodes, int64_t lanes) {
    return nodes * (32 * vectors_of(lanes) + 5) + kAligned;
  }

  /// Creates a table for up to `lanes` roots. No edge may improve a path, and all path lengths must be representable.
  Lanes(const Rows<int32_t>& rows, int64_t lanes)
      : rows_(rows),
        vectors_(vectors_of(lanes)),
        memory_(int64_t{rows.nodes} * 8 * vectors_ + kAligned / 4),
        table_(aligned(memory_.data())),
        waiting_(rows.nodes) {}

  /// Searches from the roots [first, first + count). Returns false if nodes are queued so often that separate searches
  /// take less time; the object can't be used any more then.
  bool search(const Nodes& roots, int64_t first, int64_t count, ProgressReporter& reporter) {
    std::fill(table_, table_ + int64_t{rows_.nodes} * 8 * vectors_, PathAlgebra::unreached());
    waiting_.begin(rows_.nodes);
    for (int64_t lane = 0; lane < count; ++lane) {
      const int32_t root = roots[first + lane];
      table_[place(root, lane)] = PathAlgebra::start();
      waiting_.add(root);
    }
    int64_t left = kMaxRounds * (rows_.edges.size() + rows_.nodes);
    while (!waiting_.empty()) {
      if (left <= 0) return false;
      const int64_t looked = relax_waiting(table_, vectors_, rows_, waiting_, kBetweenLooks);
      left -= looked;
      reporter.count(looked);
    }
    return true;
  }

  int32_t length(int32_t node, int64_t lane) const { return table_[place(node, lane)]; }

 private:
  static constexpr int64_t kMaxRounds = 16;
  /// Bytes of a cache line.
  static constexpr int64_t kAligned = 64;

  static int32_t* aligned(int32_t* memory) {
    return reinterpret_cast<int32_t*>((reinterpret_cast<uintptr_t>(memory) + kAligned - 1) / kAligned * kAligned);
  }
  int64_t place(int32_t node, int64_t lane) const { return int64_t{node} * 8 * vectors_ + lane; }

  const Rows<int32_t>& rows_;
  const int vectors_;
  Array<int32_t> memory_;
  int32_t* const table_;
  NodeQueue waiting_;
};

}  // namespace mpmml::graph
