#include "cpu/product.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "core/status.h"
#include "cpu/threads.h"

namespace mpmml::cpu {
namespace {

int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// Operations (elements packed, steps computed) below which a product isn't worth waking a thread for.
constexpr int64_t kWorthThreads = 1 << 20;

void check_cancelled(const Problem& problem) {
  if (problem.is_cancelled()) {
    throw Error(ErrorCode::kAborted, "the product was given up because its signal was aborted");
  }
}

int64_t saturating_product(int64_t x, int64_t y) {
  int64_t product;
  return __builtin_mul_overflow(x, y, &product) ? INT64_MAX : product;
}

/// Runs `body(first, end)` over [0, count) in runs of about `work_at_once` out of `work` operations altogether;
/// polls for cancellation between runs.
template <class Body>
void for_each_run(const Problem& problem, int64_t count, int64_t work, int64_t work_at_once, Body body) {
  const int64_t each = std::max<int64_t>(work / count, 1);
  const int64_t length = std::max<int64_t>(work_at_once / each, 1);
  auto run = [&](int64_t index) {
    check_cancelled(problem);
    body(index * length, std::min(count, (index + 1) * length));
  };
  const int64_t runs = ceil_div(count, length);
  if (work >= kWorthThreads) {
    parallel_for(runs, Task(run));
  } else {
    for (int64_t index = 0; index < runs; ++index) run(index);
  }
}

/// Keeps the smallest index that threads report.
class FirstIndex {
 public:
  void report(int64_t index) {
    int64_t known = first_.load(std::memory_order_relaxed);
    while (index < known && !first_.compare_exchange_weak(known, index, std::memory_order_relaxed)) {
    }
  }
  int64_t value() const { return first_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> first_{kNoOverflow};
};

}  // namespace

PackedOperands::Operand PackedOperands::describe(const MatrixView& view, bool is_b) const {
  const int64_t width = is_b ? kernel_.NR : kernel_.MR;
  const int64_t lanes = is_b ? view.cols : view.rows;
  const int64_t panels = ceil_div(lanes, width);
  const int64_t panel_bytes = saturating_product(padded_k_, width * kernel_.operand_size);
  const int64_t items = view.batch_stride == 0 ? 1 : problem_.batch;
  const int64_t item_bytes = saturating_product(panels, panel_bytes);
  if (saturating_product(item_bytes, items) == INT64_MAX) {
    throw Error(ErrorCode::kOutOfMemory, "the packed operands of this product are larger than memory can be");
  }
  return {view, is_b, width, lanes, items, panels, item_bytes};
}

PackedOperands::PackedOperands(const Problem& problem, const PackedKernel& kernel)
    : problem_(problem),
      kernel_(kernel),
      padded_k_(ceil_div(problem.k(), kernel.k_multiple) * kernel.k_multiple),
      blocking_(choose_blocking(kernel, problem.m(), problem.n(), padded_k_, problem.batch, thread_count())),
      a_(describe(problem.a, false)),
      b_(describe(problem.b, true)),
      data_a_(static_cast<size_t>(a_.item_bytes * a_.items)),
      data_b_(static_cast<size_t>(b_.item_bytes * b_.items)) {
  pack(a_, data_a_.data(), range_a_);
  pack(b_, data_b_.data(), range_b_);
}

PackRequest PackedOperands::request(const Operand& operand, int64_t item, void* data) const {
  const MatrixView& view = operand.view;
  const char* first = static_cast<const char*>(view.data) + item * view.batch_stride * int64_t{sizeof(int32_t)};
  return {{first, operand.lanes, problem_.k(), operand.is_b ? view.col_stride : view.row_stride,
           operand.is_b ? view.row_stride : view.col_stride},
          0,
          operand.panels_per_item,
          static_cast<char*>(data) + item * operand.item_bytes,
          operand.panels_per_item,
          padded_k_,
          blocking_.KC};
}

void PackedOperands::pack(const Operand& operand, void* data, ValueRange& range) const {
  const int64_t panels = operand.panels_per_item * operand.items;
  std::mutex mutex;
  for_each_run(problem_, panels, saturating_product(panels, operand.width * padded_k_), 1 << 18,
               [&](int64_t first, int64_t end) {
                 ValueRange seen;
                 for (int64_t panel = first; panel < end;) {
                   const int64_t item = panel / operand.panels_per_item;
                   const int64_t start = item * operand.panels_per_item;
                   PackRequest part = request(operand, item, data);
                   part.first_panel = panel - start;
                   part.end_panel = std::min(end - start, operand.panels_per_item);
                   const Occurring occurring = operand.is_b ? kernel_.pack_b(part) : kernel_.pack_a(part);
                   seen.merge({occurring.minimum, occurring.maximum, occurring.has_zero});
                   panel = start + part.end_panel;
                 }
                 std::lock_guard<std::mutex> lock(mutex);
                 range.merge(seen);
               });
}

void PackedOperands::fill_border(const Operand& operand, void* data, RangePath path) const {
  for (int64_t item = 0; item < operand.items; ++item) {
    (operand.is_b ? kernel_.fill_border_b : kernel_.fill_border_a)(request(operand, item, data), path);
  }
}

const char* PackedOperands::item(const Operand& operand, const Workspace& data, int64_t batch) const {
  return static_cast<const char*>(data.data()) + (operand.items == 1 ? 0 : batch * operand.item_bytes);
}

int64_t PackedOperands::multiply(RangePath path, const MutableMatrixView& c) const {
  if (padded_k_ > problem_.k()) {
    fill_border(a_, data_a_.data(), path);
    fill_border(b_, data_b_.data(), path);
  }
  const int64_t m = problem_.m();
  const int64_t n = problem_.n();
  const int64_t blocks_m = ceil_div(m, blocking_.MC);
  const int64_t blocks_n = ceil_div(n, blocking_.NC);
  const int64_t blocks = blocks_m * blocks_n;
  const bool in_slabs = blocking_.KC < padded_k_;
  const MatrixView& c0 = problem_.c0;
  constexpr int64_t size = sizeof(int32_t);
  FirstIndex overflow;
  auto block = [&](int64_t index, void* accumulators) {
    const int64_t batch = index / blocks;
    // Threads side by side share columns of B.
    const int64_t row = index % blocks % blocks_m * blocking_.MC;
    const int64_t col = index % blocks / blocks_m * blocking_.NC;
    BlockRequest request{};
    request.path = path;
    const char* a = item(a_, data_a_, batch);
    const char* b = item(b_, data_b_, batch);
    request.rows = std::min(blocking_.MC, m - row);
    request.cols = std::min(blocking_.NC, n - col);
    request.accumulators = accumulators;
    if (c0.data) {
      request.c0 = static_cast<const char*>(c0.data) +
                   (batch * c0.batch_stride + row * c0.row_stride + col * c0.col_stride) * size;
    }
    request.c0_row_stride = c0.row_stride;
    request.c0_col_stride = c0.col_stride;
    request.c = static_cast<char*>(c.data) + (batch * c.batch_stride + row * c.row_stride + col * c.col_stride) * size;
    request.c_row_stride = c.row_stride;
    request.c_col_stride = c.col_stride;
    for (int64_t k = 0; k < padded_k_; k += blocking_.KC) {
      if (k > 0) check_cancelled(problem_);
      request.steps = std::min(blocking_.KC, padded_k_ - k);
      request.starts = k == 0;
      request.ends = k + request.steps == padded_k_;
      request.a = a + (k * a_.panels_per_item * a_.width + row * request.steps) * kernel_.operand_size;
      request.b = b + (k * b_.panels_per_item * b_.width + col * request.steps) * kernel_.operand_size;
      const int64_t found = kernel_.multiply(request);
      if (found != kNoOverflow) {
        overflow.report((batch * m + row + found / request.cols) * n + col + found % request.cols);
      }
    }
  };
  const int64_t work = saturating_product(problem_.outputs(), padded_k_);
  for_each_run(problem_, blocks * problem_.batch, work, 1 << 20, [&](int64_t first, int64_t end) {
    if (!in_slabs) {
      for (int64_t index = first; index < end; ++index) block(index, nullptr);
      return;
    }
    const Workspace accumulators(static_cast<size_t>(blocking_.MC * blocking_.NC * kernel_.accumulator_size));
    for (int64_t index = first; index < end; ++index) block(index, accumulators.data());
  });
  return overflow.value();
}

int64_t multiply_rows(const Problem& problem, const RowsKernel& kernel, RangePath path, const MutableMatrixView& c) {
  const int64_t rows = problem.batch * problem.m();
  const int64_t work = saturating_product(problem.outputs(), problem.k());
  FirstIndex overflow;
  for_each_run(problem, rows, work, 1 << 16, [&](int64_t first, int64_t end) {
    for (int64_t row = first; row < end; ++row) {
      const int64_t batch = row / problem.m();
      const int64_t row_of_item = row - batch * problem.m();
      overflow.report(kernel.multiply(problem, path, c, batch, row_of_item, row_of_item + 1));
    }
  });
  return overflow.value();
}

ValueRange scan(const Problem& problem, const MatrixView& view, const RowsKernel& kernel) {
  ValueRange range;
  for (int64_t item = 0; item < (view.batch_stride == 0 ? 1 : problem.batch); ++item) {
    check_cancelled(problem);
    const Occurring occurring = kernel.scan(view, item);
    range.merge({occurring.minimum, occurring.maximum, occurring.has_zero});
  }
  return range;
}

}  // namespace mpmml::cpu
