#include "cpu/first_true_product.h"

#include <algorithm>

#include "core/host/workspace.h"
#include "core/problem/layout.h"
#include "cpu/loop.h"
#include "cpu/results.h"
#include "cpu/slots.h"

namespace mpmml::cpu {
namespace {

constexpr int64_t kWordSteps = 64;
/// Time to pack an element in k-steps, and the work of one packing task.
constexpr int64_t kWorkPerElement = 8;
constexpr int64_t kPackedAtOnce = kWorkPerElement << 17;
/// Work of one task, in operations on words.
constexpr int64_t kStepsAtOnce = 1 << 20;
/// Rows of a block, limit of the listed steps of a block, and chunks of columns per task. The lists of a block stay in
/// the second-level cache while they are used for all chunks of a task.
constexpr int64_t kRowsAtOnce = 64;
constexpr int64_t kListedAtOnce = 1 << 16;
constexpr int64_t kChunksAtOnce = 8;

/// The rows of a matrix, packed one by one.
class PackedRows {
 public:
  /// A row has slabs of `slab` operands; there are padded / slab of them. An operand takes `size` bytes.
  PackedRows(const Problem& problem, const MatrixView& view, const Band& band, int64_t padded, int64_t slab,
             int64_t size, void (*pack)(const PackRequest&))
      : rows_(view.rows),
        items_(items_of(view, problem.batch)),
        slab_bytes_(saturating_product(rows_, slab * size)),
        item_bytes_(saturating_product(slab_bytes_, padded / slab)),
        data_(checked_size(item_bytes_, items_)) {
    const int64_t work = saturating_product(items_, saturating_product(kWorkPerElement * rows_, view.cols));
    for_each_run(problem, items_ * rows_, work, kPackedAtOnce, [&](int64_t first, int64_t end) {
      while (first < end) {
        const int64_t item = first / rows_, row = first % rows_, count = std::min(rows_ - row, end - first);
        PackRequest request{};
        const MatrixView from = view_from(view, problem.operation.dtype, item, 0, 0);
        request.source = {from.data, rows_, view.cols, view.row_stride, view.col_stride, from.storage};
        request.first_panel = row;
        request.end_panel = row + count;
        request.packed = static_cast<char*>(data_.data()) + item * item_bytes_;
        request.panels = rows_;
        request.padded_k = padded;
        request.KC = slab;
        request.band = band;
        request.is_partial = !band.is_all(view.rows, view.cols);
        pack(request);
        first += count;
      }
    });
  }

  int64_t slab_bytes() const { return slab_bytes_; }
  const char* slab(int64_t item, int64_t slab) const {
    return static_cast<const char*>(data_.data()) + (items_ == 1 ? 0 : item) * item_bytes_ + slab * slab_bytes_;
  }

 private:
  const int64_t rows_;
  const int64_t items_;
  const int64_t slab_bytes_;
  const int64_t item_bytes_;
  const Workspace data_;
};

}  // namespace

void multiply_first_true(const Problem& problem, const FirstTrueKernel& kernel, const MutableMatrixView& c) {
  const int64_t words = ceil_div(problem.k(), kWordSteps), list_length = words * kWordSteps + kernel.list_slack;
  const int64_t operands = kernel.row_bytes / kernel.operand_size,
                chunks = ceil_div(problem.n(), int64_t{kernel.columns});
  const PackedRows a(problem, problem.a, problem.structure.a, words, words, sizeof(uint64_t), kernel.pack_a);
  const PackedRows b(problem, problem.b, problem.structure.b, chunks * operands, operands, kernel.operand_size,
                     kernel.pack_b);
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
      request.a = reinterpret_cast<const uint64_t*>(a.slab(item, 0)) + row * words;
      request.words = words;
      request.b = b.slab(item, chunk);
      request.chunk_bytes = b.slab_bytes();
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
