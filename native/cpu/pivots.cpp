#include "cpu/pivots.h"

#include <algorithm>
#include <optional>

#include "core/algebra/dispatch.h"
#include "core/host/workspace.h"
#include "core/status.h"
#include "cpu/loop.h"
#include "cpu/machine.h"

namespace mpmml::cpu {
namespace {

const PivotKernel& kernel_for(const Operation& operation, bool with_next) {
  struct Table {
    PivotKernel kernels[std::size(kSemiringNames)][std::size(kDataTypeNames)][2];
  };
  static const auto& table = *[] {
    auto* const made = new Table{};
    const PivotKernels& chosen = chosen_among(pivot_kernels());
    for (size_t semiring = 0; semiring < std::size(kSemiringNames); ++semiring) {
      for (size_t dtype = 0; dtype < std::size(kDataTypeNames); ++dtype) {
        for (const bool next : {false, true}) {
          made->kernels[semiring][dtype][next] =
              chosen.find(static_cast<SemiringId>(semiring), static_cast<DataType>(dtype), next);
        }
      }
    }
    return made;
  }();
  return table.kernels[static_cast<int>(operation.semiring)][static_cast<int>(operation.dtype)][with_next];
}

template <class Pointer>
auto* item_of(const BasicMatrixView<Pointer>& view, DataType dtype, int64_t item) {
  return view_from(view, dtype, item, 0, 0).data;
}

PivotBlock block_of(const Pivots& pivots, int64_t item, void* scratch) {
  const DataType dtype = pivots.operation.dtype;
  return {pivots.count,
          item_of(pivots.down, dtype, item),
          pivots.down.row_stride,
          item_of(pivots.along, dtype, item),
          pivots.along.row_stride,
          static_cast<int32_t*>(item_of(pivots.next_down, DataType::kInt32, item)),
          pivots.next_down.row_stride,
          static_cast<int32_t*>(item_of(pivots.next_along, DataType::kInt32, item)),
          pivots.next_along.row_stride,
          pivots.first_row,
          pivots.first_col,
          item_of(pivots.columns, dtype, item),
          pivots.columns.row_stride,
          item_of(pivots.rows, dtype, item),
          pivots.rows.row_stride,
          static_cast<int32_t*>(item_of(pivots.next_columns, DataType::kInt32, item)),
          pivots.next_columns.row_stride,
          scratch};
}

/// The rows or the columns of one matrix outside of the pivots, divided into pieces.
struct Pieces {
  static constexpr int64_t kSize = 256;

  int64_t first, after, n;  ///< `first` lines before the pivots, and the lines from `after` on

  int64_t before() const { return ceil_div(first, kSize); }
  int64_t count() const { return before() + ceil_div(n - after, kSize); }
  int64_t start(int64_t piece) const { return piece < before() ? piece * kSize : after + (piece - before()) * kSize; }
  int64_t end(int64_t piece) const { return std::min(start(piece) + kSize, piece < before() ? first : n); }
};

}  // namespace

void eliminate_pivots(const Pivots& pivots) {
  const PivotKernel& kernel = kernel_for(pivots.operation, pivots.next_down.data != nullptr);
  const int64_t count = pivots.count;
  const Pieces rows{pivots.first_row, pivots.first_row + count, pivots.down.rows},
      cols{pivots.first_col, pivots.first_col + count, pivots.along.cols};
  const int64_t tasks = rows.count() + cols.count();
  const int64_t scratch = round_up(kernel.scratch, kMatrixAlignment);
  auto* const gain = static_cast<int32_t*>(pivots.gain.data);
  // One buffer for each matrix of a group, because the pieces of a matrix read its buffer later. If no matrix has
  // pieces, each thread has a single buffer of its own.
  const bool is_alone = tasks == 0;
  const int64_t at_once = is_alone ? pivots.batch : std::min<int64_t>(pivots.batch, 64);
  std::optional<Workspace> scratches;
  if (!is_alone) scratches.emplace(checked_size(scratch, at_once));

  const CancellationToken watched{pivots.cancelled};
  for (int64_t first_item = 0; first_item < pivots.batch; first_item += at_once) {
    const int64_t items = std::min(at_once, pivots.batch - first_item);
    const auto scratch_of = [&](int64_t item) {
      return static_cast<char*>(scratches->data()) + (item - first_item) * scratch;
    };
    for_each_run(watched, items, saturating_product(items, count * count * count), 1 << 20,
                 [&](int64_t from, int64_t to) {
                   std::optional<Workspace> own;
                   if (is_alone) own.emplace(static_cast<size_t>(scratch));
                   for (int64_t item = first_item + from; item < first_item + to; ++item) {
                     if (gain[item * pivots.gain.batch_stride] != kNoGain) continue;
                     const int64_t found = kernel.among(block_of(pivots, item, own ? own->data() : scratch_of(item)));
                     if (found >= 0) {
                       gain[item * pivots.gain.batch_stride] = static_cast<int32_t>(pivots.first_node + found);
                     }
                   }
                 });
    if (is_alone) continue;
    const int64_t others = pivots.down.rows + pivots.along.cols - 2 * count;
    const int64_t work = saturating_product(items, others * count * count);
    for_each_run(watched, items * tasks, work, 1 << 20, [&](int64_t from, int64_t to) {
      for (int64_t task = from; task < to; ++task) {
        const int64_t item = first_item + task / tasks, piece = task % tasks;
        if (gain[item * pivots.gain.batch_stride] != kNoGain) continue;
        const PivotBlock block = block_of(pivots, item, scratch_of(item));
        if (piece < rows.count()) {
          kernel.down(block, rows.start(piece), rows.end(piece));
        } else {
          kernel.along(block, cols.start(piece - rows.count()), cols.end(piece - rows.count()));
        }
      }
    });
  }
}

}  // namespace mpmml::cpu
