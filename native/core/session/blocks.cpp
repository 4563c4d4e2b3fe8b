#include "core/session/blocks.h"

#include <algorithm>
#include <optional>

#include "core/problem/overflow.h"
#include "core/problem/scan.h"

namespace mpmml {
namespace {

constexpr int64_t kLeastSide = 128;

Region first_block(const Problem& problem, int64_t items, int64_t rows, int64_t cols) {
  return {{0, std::min(items, problem.batch)}, {0, std::min(rows, problem.m())}, {0, std::min(cols, problem.n())}};
}

/// Halves the batch, then the longer side, until a block fits.
Region fitting_block(const Problem& problem, int64_t bytes, const std::function<int64_t(const Problem&)>& bytes_of) {
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

std::vector<Region> blocks_of(const Problem& problem, int64_t bytes,
                              const std::function<int64_t(const Problem& block)>& bytes_of) {
  const Region size = fitting_block(problem, bytes, bytes_of);
  const auto next = [](int64_t first, Span block, int64_t end) {
    return Span{first, std::min(first + block.size(), end)};
  };
  std::vector<Region> blocks;
  for (int64_t item = 0; item < problem.batch; item += size.items.size()) {
    for (int64_t row = 0; row < problem.m(); row += size.rows.size()) {
      for (int64_t col = 0; col < problem.n(); col += size.cols.size()) {
        blocks.push_back({next(item, size.items, problem.batch), next(row, size.rows, problem.m()),
                          next(col, size.cols, problem.n())});
      }
    }
  }
  return blocks;
}

void InBlocks::compute() {
  const Problem there = destination_.there(problem_);
  std::optional<OverflowError> overflow;
  Region before{};
  for (const Region& block : blocks_) {
    // Blocks side by side share rows, so the smallest index may be in any of them. Later blocks have greater indices.
    if (overflow && !(block.items == before.items && block.rows == before.rows)) break;
    before = block;
    try {
      const Outcome part = multiply_(sub(there, block));
      outcome_.take_plan(part.plan);
      outcome_.timing.add(part.timing);
    } catch (const OverflowError& error) {
      const int64_t index = index_in_whole(block, problem_.m(), problem_.n(), error.index());
      if (!overflow || index < overflow->index()) overflow.emplace(problem_, index, error.sum());
    } catch (const Error& error) {
      // A block has other indices.
      if (error.code() == ErrorCode::kValue) require_elements_of_operands(problem_);
      throw;
    }
  }
  if (overflow) throw OverflowError(*overflow);
}

}  // namespace mpmml
