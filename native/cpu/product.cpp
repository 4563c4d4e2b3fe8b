#include "cpu/product.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <type_traits>

#include "core/dispatch.h"
#include "core/exact.h"
#include "cpu/loop.h"

namespace mpmml::cpu {
namespace {

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

template <class Pointer>
auto* element(DataType dtype, const BasicMatrixView<Pointer>& view, int64_t batch, int64_t row, int64_t col) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const char, char>;
  return static_cast<Byte*>(view.data) +
         (batch * view.batch_stride + row * view.row_stride + col * view.col_stride) * element_bytes(dtype);
}

int64_t pad(int64_t k, int64_t multiple) { return ceil_div(k, multiple) * multiple; }

}  // namespace

PathSet exact_paths_of(const Problem& problem, const Ranges& ranges) {
  return with_semiring(problem.semiring, problem.dtype, [&](auto semiring) {
    return exact_paths<decltype(semiring)>(ranges.a, ranges.b, problem.overflow);
  });
}

PackedProduct::PackedProduct(const Problem& problem, const PackedKernel& kernel, const Ranges& ranges, RangePath path)
    : problem_(problem),
      kernel_(kernel),
      padded_k_(pad(problem.k(), kernel.k_multiple)),
      blocking_(choose_blocking(kernel, problem.m(), problem.n(), padded_k_, problem.batch, thread_count())),
      a_(problem, kernel, false, padded_k_, blocking_.KC),
      b_(problem, kernel, true, padded_k_, blocking_.KC) {
  if (kernel.takes_offsets) {
    with_integer_semiring(problem.semiring, problem.dtype, [&](auto semiring) {
      const auto half = Half<decltype(semiring)>::for_operands(path, ranges.a, ranges.b);
      a_.set_offset(half.offset_a);
      b_.set_offset(half.offset_b);
    });
  }
  ranges_ = {a_.pack(), b_.pack()};
}

/// One run over all blocks of C.
class PackedProduct::Run {
 public:
  Run(const PackedProduct& product, RangePath path, const MutableMatrixView& c)
      : product_(product),
        problem_(product.problem_),
        path_(path),
        c_(c),
        blocks_m_(ceil_div(problem_.m(), product.blocking_.MC)),
        blocks_n_(ceil_div(problem_.n(), product.blocking_.NC)) {}

  int64_t run() {
    const Blocking& blocking = product_.blocking_;
    const int64_t cells = blocking.MC * blocking.NC;
    const bool in_slabs = blocking.KC < product_.padded_k_;
    for_each_run(problem_, blocks_m_ * blocks_n_ * problem_.batch, work(), kStepsAtOnce,
                 [&](int64_t first, int64_t end) {
                   std::optional<Workspace> accumulators;
                   BlockRequest request{};
                   if (in_slabs) {
                     request.accumulators =
                         accumulators.emplace(static_cast<size_t>(cells * product_.kernel_.accumulator_size)).data();
                   }
                   for (int64_t index = first; index < end; ++index) block(index, request);
                 });
    return overflow_.value();
  }

 private:
  /// Bytes of results beyond which they are fetched while they are computed. Stores that miss the caches wait for each
  /// other: up to 1.3 times the speed at K = 16 or 32 (EPYC 9004). Of results that are in a cache it takes up to a third.
  static constexpr int64_t kFar = 8 << 20;
  /// Steps computed at a time by one thread.
  static constexpr int64_t kStepsAtOnce = 1 << 20;
  int64_t work() const { return saturating_product(problem_.outputs(), product_.padded_k_); }

  void block(int64_t index, BlockRequest& request) {
    const Blocking& blocking = product_.blocking_;
    const int64_t blocks = blocks_m_ * blocks_n_;
    const int64_t batch = index / blocks;
    // Threads side by side share columns of B.
    const int64_t row = index % blocks % blocks_m_ * blocking.MC;
    const int64_t col = index % blocks / blocks_m_ * blocking.NC;
    request.path = path_;
    request.rows = std::min(blocking.MC, problem_.m() - row);
    request.cols = std::min(blocking.NC, problem_.n() - col);
    request.c0 = problem_.c0.data ? element(problem_.dtype, problem_.c0, batch, row, col) : nullptr;
    request.c0_row_stride = problem_.c0.row_stride;
    request.c0_col_stride = problem_.c0.col_stride;
    request.c = element(problem_.dtype, c_, batch, row, col);
    request.c_row_stride = c_.row_stride;
    request.c_col_stride = c_.col_stride;
    request.c_is_far = c_.col_stride == 1 && problem_.outputs() * element_bytes(problem_.dtype) > kFar;
    request.offset_a = product_.a_.offset();
    request.offset_b = product_.b_.offset();
    for (int64_t k = 0; k < product_.padded_k_; k += blocking.KC) {
      if (k > 0) check_cancelled(problem_);
      request.a = product_.a_.panel(batch, k, row);
      request.b = product_.b_.panel(batch, k, col);
      request.steps = std::min(blocking.KC, product_.padded_k_ - k);
      request.starts = k == 0;
      request.ends = k + request.steps == product_.padded_k_;
      const int64_t found = product_.kernel_.multiply(request);
      if (found != kNoOverflow) report_overflow(batch, row + found / request.cols, col + found % request.cols);
    }
  }

  void report_overflow(int64_t batch, int64_t row, int64_t col) {
    overflow_.report((batch * problem_.m() + row) * problem_.n() + col);
  }

  const PackedProduct& product_;
  const Problem& problem_;
  const RangePath path_;
  const MutableMatrixView& c_;
  const int64_t blocks_m_;
  const int64_t blocks_n_;
  FirstIndex overflow_;
};

int64_t PackedProduct::multiply(RangePath path, const MutableMatrixView& c) {
  a_.fill_border(path);
  b_.fill_border(path);
  return Run(*this, path, c).run();
}

int64_t multiply_rows(const Problem& problem, const RowsKernel& kernel, RangePath path, const MutableMatrixView& c) {
  constexpr int64_t steps_at_once = 1 << 16;
  const int64_t work = saturating_product(problem.outputs(), problem.k());
  FirstIndex overflow;
  for_each_run(problem, problem.batch * problem.m(), work, steps_at_once, [&](int64_t first, int64_t end) {
    for (int64_t row = first; row < end; ++row) {
      const int64_t batch = row / problem.m();
      const int64_t row_of_item = row - batch * problem.m();
      overflow.report(kernel.multiply(problem, path, c, batch, row_of_item, row_of_item + 1));
    }
  });
  return overflow.value();
}

Ranges scan(const Problem& problem, const RowsKernel& kernel) {
  if (!kernel.scan) return {};
  const auto scan_one = [&](const MatrixView& view) {
    ValueRange range;
    for (int64_t item = 0; item < (view.batch_stride == 0 ? 1 : problem.batch); ++item) {
      check_cancelled(problem);
      const Occurring occurring = kernel.scan(view, item);
      range.merge({occurring.minimum, occurring.maximum, occurring.has_zero});
    }
    return range;
  };
  return {scan_one(problem.a), scan_one(problem.b)};
}

}  // namespace mpmml::cpu
