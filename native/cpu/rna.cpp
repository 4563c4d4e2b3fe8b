#include "cpu/rna.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>

#include "core/host/workspace.h"
#include "core/problem/layout.h"
#include "core/rna/rna_answer.h"
#include "cpu/loop.h"
#include "cpu/machine.h"
#include "cpu/rna_kernels.h"

namespace mpmml::cpu {
namespace {

constexpr int64_t kBlock = Triangle::kBlock;

/// Size of a task, in blocks of a table. Larger tasks reuse their operands more often, but few tables need smaller
/// tasks for all threads to have work.
struct TaskSize {
  int64_t rows, columns;
};
constexpr TaskSize kLargeTasks{8, 8}, kSmallTasks{2, 4};

/// Minimum of steps for several threads. With fewer steps, one thread is done before another one has woken.
constexpr double kStepsWorthThreads = 1 << 20;

const RnaKernel& kernel(bool wide) {
  static const RnaKernels& kernels = chosen_among(rna_kernels());
  return wide ? kernels.int32 : kernels.int16;
}

/// A strand in the layout of the kernels.
class PaddedStrand {
 public:
  PaddedStrand(const Triangle& shape, const Strand& strand, const PairScores& scores, bool wide)
      : bases_(shape.positions()) {
    std::copy(strand.begin(), strand.end(), bases_.begin() + shape.padding());
    for (int base = 0; base < 4; ++base) {
      pairs_[base].assign(shape.positions() * (wide ? 2 : 1), 0);
      for (size_t i = 0; i < strand.size(); ++i) {
        const int64_t col = shape.padding() + static_cast<int64_t>(i) + 1;
        const int32_t score = scores.of[base][strand[i]];
        if (wide) {
          reinterpret_cast<int32_t*>(pairs_[base].data())[col] = score;
        } else {
          pairs_[base][col] = static_cast<int16_t>(score);
        }
      }
    }
  }

  FoldingTask closing(void* table, const void* folded, int64_t min_loop) const {
    return {table, folded, bases_.data(), {pairs(0), pairs(1), pairs(2), pairs(3)}, min_loop};
  }

 private:
  const void* pairs(int base) const { return pairs_[base].data(); }

  std::vector<uint8_t> bases_;
  std::vector<int16_t> pairs_[4];
};

/// A table over the intervals of a strand.
class Table {
 public:
  Table(const Triangle& shape, void* data, bool wide) : shape_(&shape), data_(data), wide_(wide) {}

  void* data() const { return data_; }
  int32_t operator()(int64_t a, int64_t b) const {
    const int64_t at = shape_->at(a, b);
    return wide_ ? static_cast<const int32_t*>(data_)[at] : static_cast<const int16_t*>(data_)[at];
  }

 private:
  const Triangle* shape_;
  void* data_;
  bool wide_;
};

int64_t bytes_of(const Triangle& shape, bool wide) { return shape.elements() * (wide ? 4 : 2); }

/// Closes a table, block diagonal by block diagonal. With `together`, all threads share each diagonal. `share` is the
/// table's share of all work.
void close(const Triangle& shape, const FoldingTask& closing, bool wide, bool together, double share,
           const CancellationToken& watch) {
  const RnaKernel& loops = kernel(wide);
  // The work is in the blocks between a block and the diagonal.
  const auto work = [&](int64_t distance) { return static_cast<double>((shape.blocks() - distance) * (distance + 1)); };
  double all = 0;
  for (int64_t distance = 0; distance < shape.diagonals(); ++distance) all += work(distance);
  for (int64_t distance = 0; distance < shape.diagonals(); ++distance) {
    for_each_part(watch, shape.blocks() - distance, together && distance > 0,
                  [&](int64_t row) { loops.close(shape, closing, row, row + distance); });
    watch.add(share * work(distance) / all);
  }
}

/// A strand that is folded alone.
class Folded {
 public:
  Folded(const Strand& strand, int64_t reach, const PairScores& scores, int64_t min_loop, bool wide, bool together,
         double share, const CancellationToken& watch)
      : strand_(strand),
        scores_(scores),
        min_loop_(min_loop),
        shape_(static_cast<int64_t>(strand.size()), reach),
        scratch_(bytes_of(shape_, wide)),
        table_(shape_, scratch_.data(), wide),
        padded_(shape_, strand, scores, wide) {
    if (wide) {
      empty<int32_t>();
    } else {
      empty<int16_t>();
    }
    close(shape_, padded_.closing(scratch_.data(), scratch_.data(), min_loop), wide, together, share, watch);
  }

  const Triangle& shape() const { return shape_; }
  const Table& table() const { return table_; }
  const PaddedStrand& padded() const { return padded_; }
  FoldTrace<Table> trace() const { return {strand_, scores_, min_loop_, table_}; }

 private:
  /// Only single bases have a score.
  template <class Score>
  void empty() {
    auto* const table = static_cast<Score*>(scratch_.data());
    std::fill_n(table, shape_.elements(), kNoInterval<Score>);
    for (size_t i = 0; i < strand_.size(); ++i) table[shape_.at(i, i + 1)] = 0;
  }

  const Strand& strand_;
  const PairScores& scores_;
  const int64_t min_loop_;
  const Triangle shape_;
  const Workspace scratch_;
  const Table table_;
  const PaddedStrand padded_;
};

Folding fold_one(const FoldRequest& request, const Strand& strand, bool together, double share) {
  const auto n = static_cast<int64_t>(strand.size());
  const Folded folded(strand, n, request.within, request.min_loop, request.wide, together, share, request.watch);
  return answer_fold(request, n, folded.trace());
}

/// All tables of an interaction: one over the intervals of strand 2 for each interval of strand 1.
class InteractionTables {
 public:
  explicit InteractionTables(const InteractionRequest& request)
      : request_(request),
        n_(static_cast<int64_t>(request.strand1.size())),
        m_(static_cast<int64_t>(request.strand2.size())),
        shape_(m_, request.reach),
        bytes_(checked_bytes()),
        all_steps_(std::max(steps_of(request), 1.0)),
        fold1_(request.strand1, n_, request.within, request.min_loop, request.wide, false, 0, request.watch),
        fold2_(request.strand2, request.reach, request.within, request.min_loop, request.wide, true, 0, request.watch),
        scratch_(bytes_ * count_of_intervals(n_)) {}

  /// Interval by interval of strand 1, shortest first.
  void fill() {
    const std::vector<Piece> large = pieces_of(kLargeTasks), small = pieces_of(kSmallTasks);
    for (int64_t length = 1; length <= n_; ++length) {
      fill_length(length, n_ - length + 1 >= 4 * thread_count() ? large : small);
    }
  }

  /// An element, by nodes.
  int32_t operator()(int64_t a1, int64_t b1, int64_t a2, int64_t b2) const {
    return Table(shape_, table(a1, b1), request_.wide)(a2, b2);
  }

  const Folded& fold1() const { return fold1_; }
  const Folded& fold2() const { return fold2_; }

 private:
  /// The part of a table that one task computes.
  struct Piece {
    Span rows, columns;
    double work;
  };

  /// Returns the bytes of a table, if all tables fit the memory.
  int64_t checked_bytes() const {
    const int64_t bytes = round_up(bytes_of(shape_, request_.wide), 64);
    const auto tables = static_cast<double>(count_of_intervals(n_)),
               copied = static_cast<double>(count_of_intervals(m_));
    const double copy = request_.wants_table ? tables * copied * 2 * sizeof(int32_t) : 0;
    require_room(static_cast<double>(bytes) * (tables + 1) + copy, request_.max_bytes,
                 "take shorter strands, or a window of the longer one");
    return bytes;
  }

  /// The pieces with the most work come first, so that no thread starts one of them last.
  std::vector<Piece> pieces_of(TaskSize size) const {
    std::vector<Piece> pieces;
    const int64_t end = shape_.positions();
    for (int64_t last = end; last > 0; last -= size.columns * kBlock) {
      const Span columns{std::max<int64_t>(last - size.columns * kBlock, 0), last};
      for (int64_t first = 0; first < last; first += size.rows * kBlock) {
        const Span rows{first, std::min(first + size.rows * kBlock, end)};
        if (columns.first >= shape_.end_column((rows.end - 1) / kBlock)) continue;
        const auto depth = static_cast<double>(last - std::max(first, shape_.padding()));
        pieces.push_back({rows, columns, depth * depth});
      }
    }
    std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& x, const Piece& y) { return x.work > y.work; });
    return pieces;
  }

  void fill_length(int64_t length, const std::vector<Piece>& pieces) {
    const int64_t tables = n_ - length + 1, each = static_cast<int64_t>(pieces.size());
    const bool together = static_cast<double>(tables) * steps_of(request_, length) > kStepsWorthThreads;
    // All threads close a table together if there are fewer tables than threads.
    const bool close_together = together && tables < thread_count();
    const std::unique_ptr<std::atomic<int64_t>[]> left(new std::atomic<int64_t>[tables]);
    for (int64_t a = 0; a < tables; ++a) left[a] = each;
    for_each_part(request_.watch, tables * each, together, [&](int64_t index) {
      const int64_t a = index % tables;
      compute(a, a + length, pieces[index / tables]);
      if (left[a].fetch_sub(1, std::memory_order_acq_rel) != 1 || close_together) return;
      close_table(a, a + length, false);
    });
    for (int64_t a = 0; close_together && a < tables; ++a) close_table(a, a + length, true);
  }

  void compute(int64_t a, int64_t b, const Piece& piece) {
    const RnaKernel& loops = kernel(request_.wide);
    Start start{};
    start.table = table(a, b);
    start.folded = fold2_.table().data();
    start.add = fold1_.table()(a, b);
    const int32_t enclosing = fold1_.trace().enclosing(a, b);
    if (enclosing > 0) {
      start.inside = b == a + 2 ? fold2_.table().data() : table(a + 1, b - 1);
      start.enclosing = enclosing;
    }
    std::vector<int32_t> between;
    if (b == a + 1) {
      between.assign(shape_.positions(), 0);
      for (int64_t j = 0; j < m_; ++j) {
        between[shape_.padding() + j] = request_.between.of[request_.strand1[a]][request_.strand2[j]];
      }
      start.between = between.data();
    }
    loops.start(shape_, start, piece.rows, piece.columns);
    const Workspace scratch(loops.scratch);
    for (int64_t c = a + 1; c < b; ++c) {
      request_.watch.look();
      loops.multiply(shape_, table(a, b), table(a, c), table(c, b), piece.rows, piece.columns, scratch.data());
    }
  }

  void close_table(int64_t a, int64_t b, bool together) {
    close(shape_, fold2_.padded().closing(table(a, b), fold2_.table().data(), request_.min_loop), request_.wide,
          together, steps_of(request_, b - a) / all_steps_, request_.watch);
  }

  /// Returns the table of the interval [a, b] of strand 1, a < b.
  void* table(int64_t a, int64_t b) const {
    return static_cast<char*>(scratch_.data()) + number_of_interval(n_, a, b) * bytes_;
  }

  const InteractionRequest& request_;
  const int64_t n_, m_;
  const Triangle shape_;
  const int64_t bytes_;  ///< of a table
  const double all_steps_;
  const Folded fold1_, fold2_;
  const Workspace scratch_;
};

}  // namespace

std::vector<Folding> fold(const FoldRequest& request) {
  const auto strands = static_cast<int64_t>(request.strands.size());
  // With at least as many strands as threads, each strand is folded by one thread. Otherwise all threads fold one
  // strand after the other.
  const bool beside = strands >= thread_count();
  std::vector<int64_t> bytes;
  std::vector<double> work;
  double all = 0;
  for (const Strand& strand : request.strands) {
    const auto n = static_cast<int64_t>(strand.size());
    bytes.push_back(bytes_of(Triangle(n, n), request.wide));
    work.push_back(std::pow(n, 3));
    all += work.back();
  }
  std::sort(bytes.rbegin(), bytes.rend());
  const auto at_once = std::min<int64_t>(strands, beside ? thread_count() : 1);
  require_room(std::accumulate(bytes.begin(), bytes.begin() + at_once, 0.0), request.max_bytes, "take shorter strands");
  std::vector<Folding> results(request.strands.size());
  for_each_part(request.watch, strands, beside, [&](int64_t index) {
    results[index] = fold_one(request, request.strands[index], !beside, all > 0 ? work[index] / all : 0);
  });
  return results;
}

Interactions interact(const InteractionRequest& request) {
  InteractionTables tables(request);
  tables.fill();
  const auto score = [&](int64_t a1, int64_t b1, int64_t a2, int64_t b2) { return tables(a1, b1, a2, b2); };
  return answer_interaction(request, tables.fold1().trace(), tables.fold2().trace(), score);
}

}  // namespace mpmml::cpu
