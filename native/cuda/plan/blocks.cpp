#include "cuda/plan/blocks.h"

#include <algorithm>

#include "core/destination.h"
#include "core/dispatch.h"

namespace mpmml::cuda {
namespace {

constexpr int64_t kLeastSide = 128;

struct Block {
  int64_t first_item, items, first_row, rows, first_col, cols;
};

Problem cut(const Problem& problem, const Block& block) {
  Problem part = problem;
  part.batch = block.items;
  const auto from = [&](auto& view, int64_t row, int64_t col) {
    view = view_from(view, problem.operation.dtype, block.first_item, row, col);
  };
  part.witness = view_from(part.witness, DataType::kInt32, block.first_item, block.first_row, block.first_col);
  from(part.a, block.first_row, 0);
  from(part.b, 0, block.first_col);
  from(part.c0, block.first_row, block.first_col);
  from(part.c, block.first_row, block.first_col);
  part.structure = problem.structure.from(block.first_row, block.first_col);
  part.a.rows = part.c.rows = part.c0.rows = part.witness.rows = block.rows;
  part.b.cols = part.c.cols = part.c0.cols = part.witness.cols = block.cols;
  return part;
}

Block first_block(const Problem& problem, int64_t items, int64_t rows, int64_t cols) {
  return {0, std::min(items, problem.batch), 0, std::min(rows, problem.m()), 0, std::min(cols, problem.n())};
}

/// Halves the batch, then the longer side, until a block fits.
Block fitting_block(const Problem& problem, int64_t bytes, const BytesOf& bytes_of) {
  Block block = first_block(problem, problem.batch, problem.m(), problem.n());
  const auto half = [](int64_t size) { return (size + 1) / 2; };
  while (bytes_of(cut(problem, block)) > bytes) {
    if (block.items > 1) {
      block.items = half(block.items);
    } else if (block.rows >= block.cols && block.rows > kLeastSide) {
      block.rows = half(block.rows);
    } else if (block.cols > kLeastSide) {
      block.cols = half(block.cols);
    } else {
      break;
    }
  }
  return block;
}

/// Converts a linear index among the block's results into one among the whole product's.
int64_t index_in_whole(const Problem& problem, const Block& block, int64_t index) {
  const int64_t item = block.first_item + index / (block.rows * block.cols);
  const int64_t row = block.first_row + index / block.cols % block.rows;
  return (item * problem.m() + row) * problem.n() + block.first_col + index % block.cols;
}

void add(Timing& total, const Timing& part) {
  total.kernel += part.kernel;
  total.analysis += part.analysis;
  total.h2d += part.h2d;
  total.d2h += part.d2h;
}

}  // namespace

Problem smallest_block(const Problem& problem) { return cut(problem, first_block(problem, 1, kLeastSide, kLeastSide)); }

Outcome multiply_in_blocks(const Problem& problem, int64_t bytes, const BytesOf& bytes_of,
                           const std::function<Outcome(const Problem& block)>& multiply,
                           const std::function<void()>& before_writing, bool is_variant_requested) {
  // Each block looks at its own values.
  const bool may_fail =
      overflow_fails(problem.operation) || restricts_elements(problem.operation) || is_variant_requested;
  const Destination destination(problem, may_fail);
  const bool is_apart = destination.view().data != problem.c.data;
  if (!is_apart) before_writing();
  Problem target = problem;
  target.c = destination.view();
  const Block size = fitting_block(problem, bytes, bytes_of);
  Outcome outcome;
  for (int64_t item = 0; item < problem.batch; item += size.items) {
    for (int64_t row = 0; row < problem.m(); row += size.rows) {
      for (int64_t col = 0; col < problem.n(); col += size.cols) {
        const Block block{item, std::min(size.items, problem.batch - item), row, std::min(size.rows, problem.m() - row),
                          col,  std::min(size.cols, problem.n() - col)};
        const Outcome part = multiply(cut(target, block));
        if (part.overflow) {
          const int64_t index = index_in_whole(problem, block, *part.overflow);
          outcome.overflow = std::min(outcome.overflow.value_or(index), index);
        }
        if (!outcome.plan.variant || part.plan.path > outcome.plan.path) outcome.plan = part.plan;
        add(outcome.timing, part.timing);
      }
      // Blocks side by side share rows, so the smallest index may be in any of them. Later blocks have greater indices.
      if (outcome.overflow) return outcome;
    }
  }
  if (is_apart) before_writing();
  destination.commit();
  return outcome;
}

}  // namespace mpmml::cuda
