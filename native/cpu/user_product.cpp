#include "cpu/user_product.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "core/host/workspace.h"
#include "core/problem/structured.h"
#include "core/rounding.h"
#include "core/status.h"
#include "cpu/loop.h"
#include "cpu/machine.h"
#include "cpu/slots.h"
#include "cpu/user_program.h"

namespace mpmml::cpu {
namespace {

/// Rows of C that are computed together, and the columns of a block of the interpreter. Measured on Sapphire Rapids:
/// large enough that calling a loop costs little, and small enough that the blocks of an expression with several
/// operations fit the first-level cache.
constexpr int64_t kRows = kUserTileRows, kMaxCols = 192;
/// Steps between two checks for cancellation. The operands of a tile fit the first-level cache.
constexpr int64_t kStepsAtOnce = 128;
/// Tiles of rows that a task computes one after the other, with the same part of B.
constexpr int64_t kTilesAtOnce = 16;
/// Elements of one packing task.
constexpr int64_t kPackedAtOnce = 2048;

/// Replaces each NaN by the canonical one, for computation and storage.
void canonicalize(uint32_t* data, int64_t count) {
  for (int64_t i = 0; i < count; ++i) data[i] = is_user_nan(data[i]) ? kUserNan : data[i];
}

/// An array for a thread, aligned for vectors.
class Buffer {
 public:
  explicit Buffer(int64_t elements) : memory_(checked_size(sizeof(uint32_t), std::max<int64_t>(elements, 1))) {}
  uint32_t* data() const { return static_cast<uint32_t*>(memory_.data()); }

 private:
  Workspace memory_;
};

/// Destination of a gathered part of a matrix: element (row, col) goes to to[row · row_stride + col · col_stride].
struct Gathered {
  int64_t first_row, rows, first_col, cols;
  int64_t row_stride, col_stride;
};

/// Gathers one line, whose elements are `from_stride` and `to_stride` apart. Elements outside of `inside` become
/// `zero`.
void gather_line(const uint32_t* from, int64_t from_stride, Span inside, int64_t first, int64_t count, bool is_float,
                 uint32_t zero, uint32_t* to, int64_t to_stride) {
  const int64_t begin = std::clamp<int64_t>(inside.first - first, 0, count);
  const int64_t end = std::clamp<int64_t>(inside.end - first, begin, count);
  for (int64_t at = 0; at < begin; ++at) to[at * to_stride] = zero;
  for (int64_t at = end; at < count; ++at) to[at * to_stride] = zero;
  from += first * from_stride;
  if (from_stride == 1 && to_stride == 1 && !is_float) {
    std::copy(from + begin, from + end, to + begin);
    return;
  }
  for (int64_t at = begin; at < end; ++at) {
    const uint32_t bits = from[at * from_stride];
    to[at * to_stride] = is_float && is_user_nan(bits) ? kUserNan : bits;
  }
}

/// Copies elements. Elements outside of the matrix or of the band become `zero`.
void gather(const MatrixView& view, int64_t item, const Band& band, const Gathered& part, UserType type, uint32_t zero,
            uint32_t* to) {
  const auto* const from = static_cast<const uint32_t*>(view.data) + item * view.batch_stride;
  const bool is_float = type == UserType::kFloat32;
  // The inner loop runs along the contiguous dimension.
  if (view.row_stride < view.col_stride) {
    for (int64_t col = 0; col < part.cols; ++col) {
      const int64_t at = part.first_col + col;
      const Span inside = at < view.cols ? span_of_row(band.transposed(), at, view.rows) : Span{0, 0};
      gather_line(inside.is_empty() ? from : from + at * view.col_stride, view.row_stride, inside, part.first_row,
                  part.rows, is_float, zero, to + col * part.col_stride, part.row_stride);
    }
    return;
  }
  for (int64_t row = 0; row < part.rows; ++row) {
    const int64_t at = part.first_row + row;
    const Span inside = at < view.rows ? span_of_row(band, at, view.cols) : Span{0, 0};
    gather_line(inside.is_empty() ? from : from + at * view.row_stride, view.col_stride, inside, part.first_col,
                part.cols, is_float, zero, to + row * part.row_stride, part.col_stride);
  }
}

/// ⊕ and ⊗ as one operation each, for tiles.
std::optional<UserTimes> only_times(const UserExpression& times) {
  const auto& nodes = times.nodes;
  const UserNode* node = &nodes[static_cast<size_t>(times.results[0])];
  UserTimes found{node->op, false};
  if (node->op == UserOp::kAbs) {
    node = &nodes[static_cast<size_t>(node->operands[0])];
    found = {node->op, true};
  }
  if (node->op == UserOp::kArgument || user_rule(node->op).arity != 2) return std::nullopt;
  const UserNode& x = nodes[static_cast<size_t>(node->operands[0])];
  const UserNode& y = nodes[static_cast<size_t>(node->operands[1])];
  if (x.op != UserOp::kArgument || y.op != UserOp::kArgument || x.operands[0] == y.operands[0]) return std::nullopt;
  const bool is_swapped = x.operands[0] == 1;
  // |y − x| is |x − y|, also if a difference of integers wraps.
  const bool may_swap = is_commutative(node->op) || (found.is_magnitude && node->op == UserOp::kSub);
  if (is_swapped && !may_swap) return std::nullopt;
  return found;
}

UserTileFunction tile_of(const UserSemiring& semiring, const UserKernels& kernels) {
  if (semiring.lane_count() != 1) return nullptr;
  const UserNode& plus = semiring.lowered_plus.nodes[static_cast<size_t>(semiring.lowered_plus.results[0])];
  if (!is_commutative(plus.op) || plus.type != semiring.lanes[0]) return nullptr;
  const UserNode& x = semiring.lowered_plus.nodes[static_cast<size_t>(plus.operands[0])];
  const UserNode& y = semiring.lowered_plus.nodes[static_cast<size_t>(plus.operands[1])];
  if (x.op != UserOp::kArgument || y.op != UserOp::kArgument || x.operands[0] == y.operands[0]) return nullptr;
  const std::optional<UserTimes> times = only_times(semiring.lowered_times);
  return times ? kernels.tile(semiring.lanes[0], plus.op, *times) : nullptr;
}

/// A semiring as programs.
struct Compiled {
  Compiled(const UserSemiring& semiring, const UserKernels& kernels)
      : split(split_times(semiring.lowered_times, kernels)),
        of_a(as_vectors(split.of_a), kernels, false),
        of_b(as_vectors(split.of_b), kernels, false),
        candidate(split.rest, kernels, false),
        step(step_of(split.rest, semiring.lowered_plus, kernels), kernels, true),
        combine(of_vectors(semiring.lowered_plus, kernels), kernels, false),
        tile(tile_of(semiring, kernels)) {}

  /// Returns an expression of one operand's elements as an expression of vectors.
  static UserExpression as_vectors(UserExpression expression) {
    for (UserNode& node : expression.nodes) {
      if (node.op == UserOp::kArgument) node.operands[0] = static_cast<int32_t>(UserSide::kB);
    }
    return expression;
  }

  const SplitUserTimes split;
  const UserProgram of_a, of_b;  ///< packed lanes from those of matrices
  const UserProgram candidate;   ///< a ⊗ b
  const UserProgram step;        ///< acc = acc ⊕ (a ⊗ b)
  const UserProgram combine;     ///< c0 ⊕ acc, where c0 is of kB
  const UserTileFunction tile;   ///< null: `step` is used
};

/// A or B, packed: for each piece (rows of A or columns of B, `width` of them) all steps of K of each lane.
class Packed {
 public:
  Packed(const UserProduct& product, bool is_b, const UserExpression& expression, const UserProgram& program,
         int64_t width)
      : product_(product),
        is_b_(is_b),
        views_(is_b ? product.b : product.a),
        band_(is_b ? product.structure.b : product.structure.a),
        expression_(expression),
        program_(program),
        width_(width),
        lanes_(static_cast<int64_t>(expression.results.size())),
        pieces_(ceil_div(is_b ? product.n() : product.m(), width)),
        items_(1) {
    for (size_t lane = 0; lane < product.lane_count(); ++lane) {
      items_ = std::max(items_, items_of(views_[lane], product.batch));
    }
    lane_size_ = round_up(product.k() * width, kUserAlignment);
    data_.emplace(checked_size(std::max<int64_t>(static_cast<int64_t>(sizeof(uint32_t)) * lane_size_, 1),
                               saturating_product(saturating_product(items_, pieces_), std::max<int64_t>(lanes_, 1))));
  }

  int64_t pieces() const { return items_ * pieces_; }
  int64_t lanes() const { return lanes_; }

  /// Step 0 of a lane.
  uint32_t* lane(int64_t item, int64_t piece, int64_t lane) const {
    const int64_t index = (items_ == 1 ? 0 : item) * pieces_ + piece;
    return static_cast<uint32_t*>(data_->data()) + (index * lanes_ + lane) * lane_size_;
  }

  void pack(int64_t index) const {
    const int64_t item = index / pieces_, piece = index % pieces_;
    const int64_t steps_at_once = std::max<int64_t>(kPackedAtOnce / width_, 1);
    const int64_t room = round_up(steps_at_once * width_, kUserAlignment);
    bool computes = false;
    std::array<bool, kMaxUserLanes> is_taken{};
    for (const UserNode& node : expression_.nodes) {
      if (node.op == UserOp::kArgument) {
        is_taken[static_cast<size_t>(node.operands[1])] = true;
      } else {
        computes = true;
      }
    }
    if (!computes) {
      for (int64_t lane = 0; lane < lanes_; ++lane) {
        const UserNode& node = expression_.nodes[static_cast<size_t>(expression_.results[static_cast<size_t>(lane)])];
        take(item, piece, node.operands[1], 0, product_.k(), this->lane(item, piece, lane));
      }
      return;
    }
    const auto taken = static_cast<int64_t>(product_.lane_count());
    const Buffer buffer((taken + lanes_ + static_cast<int64_t>(program_.temporaries())) * room);
    BoundUserProgram bound;
    for (int64_t step = 0; step < product_.k(); step += steps_at_once) {
      const int64_t steps = std::min(steps_at_once, product_.k() - step);
      UserFrame frame;
      frame.rows = 1;
      frame.cols = round_up(steps * width_, kUserAlignment);
      frame.out_stride = frame.cols;
      auto& lanes = frame.lanes[static_cast<size_t>(UserSide::kB)];
      for (int64_t lane = 0; lane < taken; ++lane) {
        uint32_t* const to = buffer.data() + lane * room;
        lanes.push_back({to, 0});
        if (!is_taken[static_cast<size_t>(lane)]) continue;
        std::fill(to + steps * width_, to + frame.cols, 0u);
        take(item, piece, static_cast<int32_t>(lane), step, steps, to);
      }
      for (int64_t lane = 0; lane < lanes_; ++lane) frame.out.push_back(buffer.data() + (taken + lane) * room);
      frame.temporaries = buffer.data() + (taken + lanes_) * room;
      program_.bind(frame, bound);
      bound.run();
      for (int64_t lane = 0; lane < lanes_; ++lane) {
        std::memcpy(this->lane(item, piece, lane) + step * width_, frame.out[static_cast<size_t>(lane)],
                    static_cast<size_t>(steps * width_) * sizeof(uint32_t));
      }
    }
  }

 private:
  void take(int64_t item, int64_t piece, int32_t lane, int64_t step, int64_t steps, uint32_t* to) const {
    const auto at = static_cast<size_t>(lane);
    const int64_t first = piece * width_;
    const Gathered part =
        is_b_ ? Gathered{step, steps, first, width_, width_, 1} : Gathered{first, width_, step, steps, 1, width_};
    gather(views_[at], item, band_, part, product_.semiring->lanes[at], product_.semiring->zero[at], to);
  }

  const UserProduct& product_;
  const bool is_b_;
  const UserLanes<MatrixView>& views_;
  const Band band_;
  const UserExpression& expression_;
  const UserProgram& program_;
  const int64_t width_;
  const int64_t lanes_;
  const int64_t pieces_;
  int64_t items_;
  int64_t lane_size_;
  std::optional<Workspace> data_;
};

/// One product, and the state that its tasks share.
class Run {
 public:
  Run(const UserProduct& product, const UserKernels& kernels)
      : product_(product),
        semiring_(*product.semiring),
        compiled_(semiring_, kernels),
        lanes_(static_cast<int64_t>(semiring_.lane_count())),
        cols_(compiled_.tile ? kUserTileCols : std::min(kMaxCols, round_up(product.n(), kUserAlignment))),
        a_(product, false, compiled_.split.of_a, compiled_.of_a, kRows),
        b_(product, true, compiled_.split.of_b, compiled_.of_b, cols_),
        tiles_(ceil_div(product.m(), kRows)),
        panels_(ceil_div(product.n(), cols_)),
        rows_at_once_(rows_of_blocks()) {}

  void run() {
    const int64_t pieces = a_.pieces() + b_.pieces();
    for_each(pieces, product_.k() * (kRows + cols_) * 8,
             [&](int64_t index) { index < a_.pieces() ? a_.pack(index) : b_.pack(index - a_.pieces()); });
    const int64_t groups = ceil_div(tiles_, tiles_at_once());
    const int64_t operations = static_cast<int64_t>(compiled_.step.size()), count = product_.batch * panels_ * groups;
    const int64_t work_of_each = saturating_product(tiles_at_once() * kRows * cols_, product_.k() * operations);
    Slots slots(checked_size(sizeof(uint32_t), elements_of_blocks()),
                max_threads(count, saturating_product(count, work_of_each)));
    for_each(count, work_of_each, [&](int64_t index) {
      const int64_t panel = index / groups % panels_, item = index / groups / panels_;
      const int64_t first = index % groups * tiles_at_once();
      const Slots::Slot slot(slots);
      auto* const buffer = static_cast<uint32_t*>(slot.data());
      Block(*this, item, panel, buffer).compute(first, std::min(tiles_, first + tiles_at_once()));
    });
  }

  static std::string explain(const UserProduct& product, const UserKernels& kernels) {
    const Compiled compiled(*product.semiring, kernels);
    const std::string isa = std::string("cpu, ") + kernels.isa + ": ";
    if (compiled.tile) {
      return isa + "a tile of " + std::to_string(kUserTileRows) + " × " + std::to_string(kUserTileCols) +
             " in registers, as ⊕ and ⊗ are one operation each";
    }
    return isa + "a vector interpreter of " + std::to_string(compiled.step.size()) +
           " loops per step over blocks in the cache";
  }

 private:
  template <class Body>
  void for_each(int64_t count, int64_t work_of_each, Body body) const {
    for_each_part(product_, count, saturating_product(count, work_of_each) >= kWorthThreads, body);
  }

  /// Number of tiles per task, limited so that all threads have work.
  int64_t tiles_at_once() const {
    const int64_t wanted = ceil_div(tiles_ * panels_ * product_.batch, int64_t{4} * thread_count());
    return std::clamp<int64_t>(wanted, 1, kTilesAtOnce);
  }

  /// Elements of a block's buffer: accumulators, results, candidates, a copy of accumulators, witnesses, and
  /// temporaries.
  int64_t elements_of_blocks() const {
    const size_t temporaries =
        std::max({compiled_.step.temporaries(), compiled_.combine.temporaries(), compiled_.candidate.temporaries()});
    return (tiles_at_once() * lanes_ + 3 * lanes_ + 1 + static_cast<int64_t>(temporaries)) * kRows * cols_;
  }

  /// Number of rows for which the blocks of the interpreter fit the first-level cache.
  int64_t rows_of_blocks() const {
    const int64_t blocks = lanes_ + static_cast<int64_t>(compiled_.step.temporaries()) + 1;
    const int64_t row_bytes = blocks * cols_ * static_cast<int64_t>(sizeof(uint32_t));
    int64_t rows = kRows;
    while (rows > 1 && rows * row_bytes > caches().level1 * 3 / 4) rows /= 2;
    return rows;
  }

  /// Results in some rows of a panel.
  class Block {
   public:
    /// `buffer` has elements_of_blocks().
    Block(const Run& run, int64_t item, int64_t panel, uint32_t* buffer)
        : run_(run),
          product_(run.product_),
          item_(item),
          panel_(panel),
          size_(kRows * run.cols_),
          first_col_(panel * run.cols_),
          cols_inside_(std::min(run.cols_, product_.n() - first_col_)),
          acc_(buffer) {}

    void compute(int64_t first_tile, int64_t end_tile) {
      const int64_t lanes = run_.lanes_, tiles = end_tile - first_tile;
      result_ = acc_ + tiles * lanes * size_;
      candidate_ = result_ + lanes * size_;
      kept_ = candidate_ + lanes * size_;
      witness_ = reinterpret_cast<int32_t*>(kept_ + lanes * size_);
      temporaries_ = reinterpret_cast<uint32_t*>(witness_) + size_;

      for (int64_t at = 0; at < tiles * lanes; ++at) {
        std::fill_n(acc_ + at * size_, size_, run_.semiring_.zero[static_cast<size_t>(at % lanes)]);
      }
      const Span steps = steps_of(first_tile, end_tile);
      double done = 0;
      const double all = static_cast<double>(rows_inside(first_tile, end_tile) * cols_inside_);
      for (int64_t step = steps.first; step < steps.end; step += kStepsAtOnce) {
        check_cancelled(product_);
        const Span slab{step, std::min(steps.end, step + kStepsAtOnce)};
        for (int64_t tile = first_tile; tile < end_tile; ++tile) {
          const Span of_tile = steps_of(tile, tile + 1);
          const Span inside{std::max(slab.first, of_tile.first), std::min(slab.end, of_tile.end)};
          if (!inside.is_empty()) fold(tile, acc_of(tile - first_tile), inside);
        }
        product_.count_steps(all * static_cast<double>(slab.size()));
        done += static_cast<double>(slab.size());
      }
      product_.count_steps(all * (static_cast<double>(product_.k()) - done));
      for (int64_t tile = first_tile; tile < end_tile; ++tile) finish(tile, acc_of(tile - first_tile));
    }

   private:
    Span rows_of(int64_t first_tile, int64_t end_tile) const {
      return {first_tile * kRows, std::min(end_tile * kRows, product_.m())};
    }
    int64_t rows_inside(int64_t first_tile, int64_t end_tile) const { return rows_of(first_tile, end_tile).size(); }
    Span cols() const { return {first_col_, first_col_ + cols_inside_}; }
    /// Steps that contribute to some result of the tiles.
    Span steps_of(int64_t first_tile, int64_t end_tile) const {
      const Span rows = rows_of(first_tile, end_tile);
      if (!product_.is_structured()) return {0, product_.k()};
      if (!product_.structure.c.has_some(rows, cols())) return {0, 0};
      return product_.structure.steps(rows, cols(), product_.k());
    }
    uint32_t* acc_of(int64_t tile) const { return acc_ + tile * run_.lanes_ * size_; }

    void fold(int64_t tile, uint32_t* acc, Span steps) {
      if (run_.semiring_.absorbs || !product_.is_structured()) return fold_all(tile, acc, steps);
      // Runs of steps that contribute to all results alternate with single steps that contribute to some.
      for (int64_t step = steps.first; step < steps.end;) {
        int64_t end = step;
        while (end < steps.end && is_whole(tile, end)) ++end;
        if (end > step) {
          fold_all(tile, acc, {step, end});
          step = end;
          continue;
        }
        std::memcpy(kept_, acc, static_cast<size_t>(run_.lanes_ * size_) * sizeof(uint32_t));
        fold_all(tile, acc, {step, step + 1});
        restore(tile, acc, step);
        ++step;
      }
    }

    /// Rows and columns of a tile to which a step contributes.
    Span rows_at(int64_t tile, int64_t step) const {
      const Span inside = span_of_row(product_.structure.a.transposed(), step, product_.m());
      const Span rows = rows_of(tile, tile + 1);
      return {std::max(inside.first, rows.first), std::min(inside.end, rows.end)};
    }
    Span cols_at(int64_t step) const {
      const Span inside = span_of_row(product_.structure.b, step, product_.n());
      return {std::max(inside.first, cols().first), std::min(inside.end, cols().end)};
    }
    bool is_whole(int64_t tile, int64_t step) const {
      return rows_at(tile, step) == rows_of(tile, tile + 1) && cols_at(step) == cols();
    }
    bool counts(int64_t tile, int64_t step, int64_t row, int64_t col) const {
      const Span rows = rows_at(tile, step), inside = cols_at(step);
      return row >= rows.first && row < rows.end && col >= inside.first && col < inside.end;
    }

    /// Undoes a step for the results to which it doesn't contribute.
    void restore(int64_t tile, uint32_t* acc, int64_t step) const {
      const Span rows = rows_at(tile, step).from(tile * kRows), cols = cols_at(step).from(first_col_);
      const Span none{run_.cols_, run_.cols_};
      for (int64_t at = 0; at < run_.lanes_ * kRows; ++at) {
        const int64_t row = at % kRows;
        const Span taken = row >= rows.first && row < rows.end && !cols.is_empty() ? cols : none;
        const uint32_t* const kept = kept_ + at * run_.cols_;
        uint32_t* const to = acc + at * run_.cols_;
        std::copy(kept, kept + taken.first, to);
        std::copy(kept + taken.end, kept + run_.cols_, to + taken.end);
      }
    }

    /// A frame for rows of the tile from `row` on, at a step.
    UserFrame frame_of(int64_t tile, int64_t row, int64_t rows, int64_t step) const {
      UserFrame frame;
      frame.rows = rows;
      frame.cols = frame.out_stride = run_.cols_;
      frame.temporaries = temporaries_;
      for (int64_t lane = 0; lane < run_.a_.lanes(); ++lane) {
        frame.lanes[static_cast<size_t>(UserSide::kA)].push_back(
            {run_.a_.lane(item_, tile, lane) + step * kRows + row, 1});
      }
      for (int64_t lane = 0; lane < run_.b_.lanes(); ++lane) {
        frame.lanes[static_cast<size_t>(UserSide::kB)].push_back(
            {run_.b_.lane(item_, panel_, lane) + step * run_.cols_, 0});
      }
      return frame;
    }

    void fold_all(int64_t tile, uint32_t* acc, Span steps) {
      if (run_.compiled_.tile) {
        run_.compiled_.tile(run_.a_.lane(item_, tile, 0) + steps.first * kRows,
                            run_.b_.lane(item_, panel_, 0) + steps.first * run_.cols_, acc, steps.size());
        return;
      }
      const int64_t rows_inside = this->rows_inside(tile, tile + 1);
      for (int64_t row = 0; row < rows_inside; row += run_.rows_at_once_) {
        UserFrame frame = frame_of(tile, row, std::min(run_.rows_at_once_, rows_inside - row), steps.first);
        for (int64_t lane = 0; lane < run_.lanes_; ++lane) {
          uint32_t* const of_lane = acc + lane * size_ + row * run_.cols_;
          frame.lanes[static_cast<size_t>(UserSide::kAcc)].push_back({of_lane, run_.cols_});
          frame.out.push_back(of_lane);
        }
        // In place, results are lanes of the accumulators.
        run_.compiled_.step.bind(frame, bound_);
        bound_.run(steps.size(), kRows, run_.cols_);
      }
    }

    void finish(int64_t tile, uint32_t* acc) {
      uint32_t* result = acc;
      if (product_.accumulates()) {
        accumulate(tile, acc);
        result = result_;
      }
      for (int64_t lane = 0; lane < run_.lanes_; ++lane) {
        if (run_.semiring_.lanes[static_cast<size_t>(lane)] == UserType::kFloat32)
          canonicalize(result + lane * size_, size_);
      }
      if (product_.witness.data) find_witnesses(tile, result);
      const Span rows = rows_of(tile, tile + 1);
      for (int64_t row = rows.first; row < rows.end; ++row) {
        const Span of_row = span_of_row(product_.structure.c, row, product_.n());
        const Span inside{std::max(of_row.first, cols().first), std::min(of_row.end, cols().end)};
        const int64_t at = (row - rows.first) * run_.cols_ - first_col_;
        for (int64_t lane = 0; lane < run_.lanes_; ++lane) {
          store(product_.c[static_cast<size_t>(lane)], row, inside, result + lane * size_ + at);
        }
        if (product_.witness.data) store(product_.witness, row, inside, reinterpret_cast<uint32_t*>(witness_) + at);
      }
    }

    /// Columns of a row; `from` has column 0.
    void store(const MutableMatrixView& view, int64_t row, Span cols, const uint32_t* from) const {
      auto* const to = static_cast<uint32_t*>(view.data) + item_ * view.batch_stride + row * view.row_stride;
      if (cols.is_empty()) return;
      if (view.col_stride == 1) {
        std::memcpy(to + cols.first, from + cols.first, static_cast<size_t>(cols.size()) * sizeof(uint32_t));
        return;
      }
      for (int64_t col = cols.first; col < cols.end; ++col) to[col * view.col_stride] = from[col];
    }

    void accumulate(int64_t tile, const uint32_t* acc) {
      const Gathered part{tile * kRows, kRows, first_col_, run_.cols_, run_.cols_, 1};
      UserFrame frame;
      frame.rows = kRows;
      frame.cols = frame.out_stride = run_.cols_;
      frame.temporaries = temporaries_;
      for (int64_t lane = 0; lane < run_.lanes_; ++lane) {
        const auto at = static_cast<size_t>(lane);
        uint32_t* const c0 = candidate_ + lane * size_;
        gather(product_.c0[at], item_, product_.structure.c, part, run_.semiring_.lanes[at], run_.semiring_.zero[at],
               c0);
        frame.lanes[static_cast<size_t>(UserSide::kB)].push_back({c0, run_.cols_});
        frame.lanes[static_cast<size_t>(UserSide::kAcc)].push_back({acc + lane * size_, run_.cols_});
        frame.out.push_back(result_ + lane * size_);
      }
      run_.compiled_.combine.bind(frame, bound_);
      bound_.run();
    }

    void find_witnesses(int64_t tile, const uint32_t* result) {
      constexpr int32_t kSought = -2;
      const int64_t lanes = run_.lanes_;
      for (int64_t at = 0; at < size_; ++at) {
        bool is_zero = true;
        for (int64_t lane = 0; lane < lanes; ++lane) {
          is_zero &= result[lane * size_ + at] == run_.semiring_.zero[static_cast<size_t>(lane)];
        }
        const bool is_inside = at % run_.cols_ < cols_inside_ && at / run_.cols_ < rows_inside(tile, tile + 1);
        witness_[at] = is_zero || !is_inside ? kNoWitness : kSought;
      }
      const Span steps = steps_of(tile, tile + 1);
      for (int64_t step = steps.first; step < steps.end; ++step) {
        if (step % 16 == 0 && std::find(witness_, witness_ + size_, kSought) == witness_ + size_) break;
        UserFrame frame = frame_of(tile, 0, kRows, step);
        for (int64_t lane = 0; lane < lanes; ++lane) frame.out.push_back(candidate_ + lane * size_);
        run_.compiled_.candidate.bind(frame, bound_);
        bound_.run();
        const bool is_partial = product_.is_structured() && !is_whole(tile, step);
        for (int64_t lane = 0; lane < lanes; ++lane) {
          uint32_t* const of_lane = candidate_ + lane * size_;
          if (run_.semiring_.lanes[static_cast<size_t>(lane)] == UserType::kFloat32) canonicalize(of_lane, size_);
          // Stores in the first lane whether all lanes are equal.
          for (int64_t at = 0; at < size_; ++at) {
            const uint32_t before = lane == 0 ? 1 : candidate_[at];
            const uint32_t is_equal = of_lane[at] == result[lane * size_ + at] ? 1 : 0;
            candidate_[at] = before & is_equal;
          }
        }
        for (int64_t at = 0; at < size_; ++at) {
          const bool is_found = witness_[at] == kSought && candidate_[at] != 0;
          if (is_partial && is_found &&
              !counts(tile, step, tile * kRows + at / run_.cols_, first_col_ + at % run_.cols_)) {
            continue;
          }
          witness_[at] = is_found ? static_cast<int32_t>(step) : witness_[at];
        }
      }
      std::replace(witness_, witness_ + size_, kSought, kNoWitness);
    }

    const Run& run_;
    const UserProduct& product_;
    const int64_t item_, panel_;
    const int64_t size_;  ///< elements of a tile
    const int64_t first_col_, cols_inside_;
    uint32_t* const acc_;
    uint32_t *result_ = nullptr, *candidate_ = nullptr, *kept_ = nullptr, *temporaries_ = nullptr;
    int32_t* witness_ = nullptr;
    BoundUserProgram bound_;
  };

  const UserProduct& product_;
  const UserSemiring& semiring_;
  const Compiled compiled_;
  const int64_t lanes_;
  const int64_t cols_;
  const Packed a_, b_;
  const int64_t tiles_, panels_;
  const int64_t rows_at_once_;
};

}  // namespace

const UserKernels& chosen_user_kernels() {
  static const UserKernels& chosen = chosen_among(user_kernels());
  return chosen;
}

void multiply_user(const UserProduct& product) {
  if (product.outputs() == 0) return;
  Run(product, chosen_user_kernels()).run();
}

std::string explain_user(const UserProduct& product) { return Run::explain(product, chosen_user_kernels()); }

double estimate_user_ms(const UserProduct& product) {
  // Operations per millisecond and core, measured on Sapphire Rapids with AVX-512, and the cost of a call.
  constexpr double kOperationsPerMs = 1.5e7, kCallMs = 0.03;
  const double threads = std::clamp(product.operations() / kWorthThreads, 1.0, static_cast<double>(thread_count()));
  return kCallMs + product.operations() / (kOperationsPerMs * threads);
}

void evaluate_user(const UserSemiring& semiring, bool combine, const UserLanes<const uint32_t*>& x,
                   const UserLanes<const uint32_t*>& y, const UserLanes<uint32_t*>& out, int64_t count) {
  const UserKernels& kernels = chosen_user_kernels();
  const UserProgram program(of_vectors(combine ? semiring.lowered_plus : semiring.lowered_times, kernels), kernels,
                            false);
  const auto lanes = static_cast<int64_t>(semiring.lane_count());
  const int64_t room = std::min(kPackedAtOnce, round_up(count, kUserAlignment));
  const Buffer buffer((3 * lanes + static_cast<int64_t>(program.temporaries())) * room);
  std::fill_n(buffer.data(), 2 * lanes * room, 0u);
  UserFrame frame;
  frame.rows = 1;
  frame.cols = frame.out_stride = room;
  frame.temporaries = buffer.data() + 3 * lanes * room;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    frame.lanes[static_cast<size_t>(UserSide::kB)].push_back({buffer.data() + lane * room, 0});
    frame.lanes[static_cast<size_t>(UserSide::kAcc)].push_back({buffer.data() + (lanes + lane) * room, 0});
    frame.out.push_back(buffer.data() + (2 * lanes + lane) * room);
  }
  BoundUserProgram bound;
  program.bind(frame, bound);
  for (int64_t first = 0; first < count; first += room) {
    const int64_t length = std::min(room, count - first);
    const auto bytes = static_cast<size_t>(length) * sizeof(uint32_t);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const auto at = static_cast<size_t>(lane);
      const bool is_float = semiring.lanes[at] == UserType::kFloat32;
      uint32_t* const of_x = buffer.data() + lane * room;
      uint32_t* const of_y = buffer.data() + (lanes + lane) * room;
      std::memcpy(of_x, x[at] + first, bytes);
      std::memcpy(of_y, y[at] + first, bytes);
      if (is_float) canonicalize(of_x, length), canonicalize(of_y, length);
    }
    bound.run();
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const auto at = static_cast<size_t>(lane);
      uint32_t* const result = frame.out[at];
      if (semiring.lanes[at] == UserType::kFloat32) canonicalize(result, length);
      std::memcpy(out[at] + first, result, bytes);
    }
  }
}

}  // namespace mpmml::cpu
