#include "cuda/plan/blocks.h"

#include <algorithm>

#include "core/destination.h"
#include "core/dispatch.h"
#include "core/region.h"

namespace mpmml::cuda {
namespace {

constexpr int64_t kLeastSide = 128;

Region first_block(const Problem& problem, int64_t items, int64_t rows, int64_t cols) {
  return {{0, std::min(items, problem.batch)}, {0, std::min(rows, problem.m())}, {0, std::min(cols, problem.n())}};
}

/// Halves the batch, then the longer side, until a block fits.
Region fitting_block(const Problem& problem, int64_t bytes, const BytesOf& bytes_of) {
  Region block = whole(problem);
  const auto halve = [](Span& span) { span.end = (span.end + 1) / 2; };
  while (bytes_of(sub(problem, block)) > bytes) {
    if (block.items.size() > 1) {
      halve(block.items);
    } else if (block.rows.size() >= block.cols.size() && block.rows.size() > kLeastSide) {
      halve(block.rows);
    } else if (block.cols.size() > kLeastSide) {
      halve(block.cols);
    } else {
      break;
    }
  }
  return block;
}

}  // namespace

Problem smallest_block(const Problem& problem) { return sub(problem, first_block(problem, 1, kLeastSide, kLeastSide)); }

Outcome multiply_in_blocks(const Problem& problem, int64_t bytes, const BytesOf& bytes_of,
                           const std::function<Outcome(const Problem& block)>& multiply,
                           const std::function<void()>& before_writing, bool is_variant_requested) {
  // Each block looks at its own values.
  const Destination destination(problem, values_may_fail(problem.operation) || is_variant_requested);
  const bool is_apart = destination.view().data != problem.c.data;
  if (!is_apart) before_writing();
  Problem target = problem;
  target.c = destination.view();
  const Region size = fitting_block(problem, bytes, bytes_of);
  const auto next = [](int64_t first, Span block, int64_t end) {
    return Span{first, std::min(first + block.size(), end)};
  };
  Outcome outcome;
  for (int64_t item = 0; item < problem.batch; item += size.items.size()) {
    for (int64_t row = 0; row < problem.m(); row += size.rows.size()) {
      for (int64_t col = 0; col < problem.n(); col += size.cols.size()) {
        const Region block{next(item, size.items, problem.batch), next(row, size.rows, problem.m()),
                           next(col, size.cols, problem.n())};
        const Outcome part = multiply(sub(target, block));
        if (part.overflow) {
          outcome.take_overflow(index_in_whole(block, problem.m(), problem.n(), *part.overflow));
        }
        outcome.take_plan(part.plan);
        outcome.timing.add(part.timing);
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
