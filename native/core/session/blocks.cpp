#include "core/session/blocks.h"

#include <algorithm>
#include <optional>

#include "core/problem/overflow.h"
#include "core/problem/scan.h"

namespace mpmml {
namespace {

Region first_block(const Problem& problem, int64_t items, int64_t rows, int64_t cols) {
  return {{0, std::min(items, problem.batch)}, {0, std::min(rows, problem.m())}, {0, std::min(cols, problem.n())}};
}

/// Halves the batch, then the longer side, until a block fits.
Region fitting_block(const Problem& problem, int64_t bytes, const std::function<int64_t(const Problem&)>& bytes_of) {
  Region block = whole(problem);
  while (bytes_of(sub(problem, block)) > bytes) {
    const bool by_items = block.items.size() > 1;
    Span& longest = block.*longest_axis(block);
    if (!by_items && longest.size() <= kMinBlockSide) break;
    longest.end = (longest.end + 1) / 2;
  }
  return block;
}

}  // namespace

Problem smallest_block(const Problem& problem) {
  return sub(problem, first_block(problem, 1, kMinBlockSide, kMinBlockSide));
}

std::vector<Region> blocks_of(const Problem& problem, int64_t bytes,
                              const std::function<int64_t(const Problem& block)>& bytes_of) {
  const Region size = fitting_block(problem, bytes, bytes_of);
  std::vector<Region> blocks;
  for (const Region& items : cut(whole(problem), &Region::items, size.items.size())) {
    for (const Region& rows : cut(items, &Region::rows, size.rows.size())) {
      for (const Region& block : cut(rows, &Region::cols, size.cols.size())) blocks.push_back(block);
    }
  }
  return blocks;
}

void InBlocks::compute() {
  const Problem there = destination_.there(problem_);
  std::optional<OverflowError> overflow;
  Region before{};
  for (const Region& block : blocks_) {
    // Adjacent blocks share rows, so the smallest index may be in any of them. Later blocks have greater indices.
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
      // Indices in a block differ from those in the whole product.
      if (error.code() == ErrorCode::kValue) require_elements_of_operands(problem_);
      throw;
    }
  }
  if (overflow) throw OverflowError(*overflow);
}

}  // namespace mpmml
