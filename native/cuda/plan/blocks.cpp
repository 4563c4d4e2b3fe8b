#include "cuda/plan/blocks.h"

#include <algorithm>
#include <memory>

#include "core/status.h"
#include "cuda/runtime/product.h"

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
    view = view_from(view, problem.dtype, block.first_item, row, col);
  };
  from(part.a, block.first_row, 0);
  from(part.b, 0, block.first_col);
  from(part.c0, block.first_row, block.first_col);
  from(part.c, block.first_row, block.first_col);
  part.a.rows = part.c.rows = part.c0.rows = block.rows;
  part.b.cols = part.c.cols = part.c0.cols = block.cols;
  return part;
}

Block first_block(const Problem& problem, int64_t items, int64_t rows, int64_t cols) {
  return {0, std::min(items, problem.batch), 0, std::min(rows, problem.m()), 0, std::min(cols, problem.n())};
}

/// Halves the batch, then the longer side, until a block fits.
Block fitting_block(const Problem& problem, int64_t bytes) {
  Block block = first_block(problem, problem.batch, problem.m(), problem.n());
  const auto half = [](int64_t size) { return (size + 1) / 2; };
  while (needed_bytes(cut(problem, block)) > bytes) {
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

void add(Timing& total, const Timing& part) {
  total.kernel += part.kernel;
  total.analysis += part.analysis;
  total.h2d += part.h2d;
  total.d2h += part.d2h;
}

}  // namespace

Problem smallest_block(const Problem& problem) { return cut(problem, first_block(problem, 1, kLeastSide, kLeastSide)); }

Outcome multiply_in_blocks(const Problem& problem, int64_t bytes,
                           const std::function<Outcome(const Problem& block)>& multiply) {
  Problem target = problem;
  std::unique_ptr<int32_t[]> apart;
  if (problem.overflow == OverflowPolicy::kThrow && problem.keeps_c) {
    apart.reset(new int32_t[problem.outputs()]);
    target.c = {apart.get(), problem.m(), problem.n(), problem.n(), 1, problem.m() * problem.n()};
  }
  const Block size = fitting_block(problem, bytes);
  Outcome outcome;
  for (int64_t item = 0; item < problem.batch; item += size.items) {
    for (int64_t row = 0; row < problem.m(); row += size.rows) {
      for (int64_t col = 0; col < problem.n(); col += size.cols) {
        const Block block{item, std::min(size.items, problem.batch - item), row, std::min(size.rows, problem.m() - row),
                          col,  std::min(size.cols, problem.n() - col)};
        const Outcome part = multiply(cut(target, block));
        if (part.overflow) {
          const int64_t in_item = *part.overflow / (block.rows * block.cols);
          const int64_t in_row = *part.overflow / block.cols % block.rows;
          outcome.overflow =
              ((item + in_item) * problem.m() + row + in_row) * problem.n() + col + *part.overflow % block.cols;
          return outcome;
        }
        if (!outcome.plan.variant || part.plan.path > outcome.plan.path) outcome.plan = part.plan;
        add(outcome.timing, part.timing);
      }
    }
  }
  if (!apart) return outcome;
  const int32_t* from = apart.get();
  for (int64_t item = 0; item < problem.batch; ++item) {
    for (int64_t row = 0; row < problem.m(); ++row) {
      auto* to = static_cast<int32_t*>(problem.c.data) + item * problem.c.batch_stride + row * problem.c.row_stride;
      for (int64_t col = 0; col < problem.n(); ++col) to[col * problem.c.col_stride] = *from++;
    }
  }
  return outcome;
}

}  // namespace mpmml::cuda
