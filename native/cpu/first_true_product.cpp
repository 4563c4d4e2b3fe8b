#include "cpu/first_true_product.h"

#include <algorithm>

#include "cpu/loop.h"
#include "cpu/operand.h"
#include "cpu/results.h"
#include "cpu/slots.h"

namespace mpmml::cpu {
namespace {

/// Elements in a word of packed bits.
constexpr int64_t kWordSteps = 64;
/// Work of one task, in operations on words.
constexpr int64_t kStepsAtOnce = 1 << 20;
/// Rows of a block, limit of the listed steps of a block, and chunks of columns per task. The lists of a block stay in
/// the second-level cache while they are used for all chunks of a task.
constexpr int64_t kRowsAtOnce = 64;
constexpr int64_t kListedAtOnce = 1 << 16;
constexpr int64_t kChunksAtOnce = 8;

}  // namespace

void multiply_first_true(const Problem& problem, const FirstTrueKernel& kernel, const MutableMatrixView& c) {
  const int64_t words = ceil_div(problem.k(), kWordSteps), list_length = words * kWordSteps + kernel.list_slack;
  const int64_t operands = kernel.row_bytes / kernel.operand_size,
                chunks = ceil_div(problem.n(), int64_t{kernel.columns});
  PackedOperand a(problem, false, {kernel.pack_a, nullptr, 1, sizeof(uint64_t), words, words, 0, false});
  PackedOperand b(problem, true,
                  {kernel.pack_b, nullptr, 1, kernel.operand_size, chunks * operands, operands, 0, true});
  a.pack(kWordSteps);
  b.pack(kWordSteps);
  const int64_t rows = std::clamp<int64_t>(kListedAtOnce / list_length, 1, kRowsAtOnce);
  const int64_t runs = ceil_div(chunks, kChunksAtOnce), blocks = ceil_div(problem.m(), rows);
  const int64_t work = saturating_product(problem.outputs(), words);
  Slots slots(checked_size(sizeof(int32_t) * rows, list_length), thread_count());
  for_each_run(problem, blocks * runs * problem.batch, work, kStepsAtOnce, [&](int64_t first, int64_t end) {
    const Slots::Slot lists(slots);
    for (int64_t index = first; index < end; ++index) {
      const int64_t item = index / (blocks * runs), chunk = index % (blocks * runs) / blocks * kChunksAtOnce;
      const int64_t row = index % blocks * rows, col = chunk * kernel.columns;
      FirstTrueRequest request{};
      request.a = static_cast<const uint64_t*>(a.panel(item, 0, row));
      request.words = words;
      request.b = b.panel(item, chunk * operands, 0);
      request.chunk_bytes = b.panels() * kernel.row_bytes;
      request.rows = std::min(rows, problem.m() - row);
      request.cols = std::min(kChunksAtOnce * kernel.columns, problem.n() - col);
      request.lists = static_cast<int32_t*>(lists.data());
      request.list_length = list_length;
      request.results = results_from(problem, c, item, row, col);
      kernel.multiply(request);
      problem.count_steps(static_cast<double>(request.rows * request.cols));
    }
  });
}

}  // namespace mpmml::cpu
