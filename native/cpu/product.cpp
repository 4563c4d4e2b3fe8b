#include "cpu/product.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <optional>

#include "core/algebra/arithmetic.h"
#include "core/algebra/dispatch.h"
#include "core/host/clock.h"
#include "core/host/host_memory.h"
#include "core/problem/definition.h"
#include "core/problem/destination.h"
#include "core/problem/overflow.h"
#include "core/problem/scan.h"
#include "core/problem/structured.h"
#include "core/status.h"
#include "cpu/loop.h"
#include "cpu/machine.h"
#include "cpu/operand.h"
#include "cpu/results.h"
#include "cpu/slots.h"
#include "cpu/thin_product.h"

namespace mpmml::cpu {
namespace {

/// How a product is divided for the caches and the threads: MC rows of A at a time read a slab of KC steps and NC
/// columns of B. For witnesses, a slab is divided into stretches of `stretch` steps (WindowsOfBlock).
struct Blocking {
  int64_t MC;
  int64_t NC;
  int64_t KC;
  int64_t stretch;
  bool windows_are_near;
};

/// Returns the size of equal parts of `whole`: a multiple of `unit`, and at most `most`.
int64_t equal_parts(int64_t whole, int64_t most, int64_t unit) {
  const int64_t parts = ceil_div(whole, std::max(most / unit * unit, unit));
  return round_up(ceil_div(whole, parts), unit);
}

Blocking choose_blocking(const PackedKernel& kernel, int64_t m, int64_t n, int64_t padded_k, int64_t batch, int threads,
                         bool with_witnesses) {
  const int64_t size = kernel.operand_size;
  // A stretch is a window, or as many as let stretches be counted in the bytes of an accumulator.
  const int64_t notes = kernel.accumulator_size == 1 ? 255 : 65535;
  const int64_t stretch = with_witnesses ? kernel.window * ceil_div(padded_k, kernel.window * notes) : 0;
  // The slab of a panel of B takes half of the first level, and each panel of A is multiplied with it. The other half
  // is for the current panel of A.
  const int64_t KC =
      equal_parts(padded_k, caches().level1 / 2 / (kernel.NR * size), with_witnesses ? stretch : kernel.k_multiple);
  // The slab of A's panels takes a quarter of the second level. The tiles that are stored between slabs take another
  // quarter.
  int64_t MC = equal_parts(m, caches().level2 / 4 / (KC * kernel.a_size), kernel.MR);
  // For witnesses each accumulator has a note of the same size.
  const int64_t cell = (with_witnesses ? 2 : 1) * kernel.accumulator_size;
  int64_t NC = equal_parts(n, caches().level2 / 4 / (MC * cell), kernel.NR);
  // The windows of a block of B are near if they take half of the second level. That isn't worth few columns.
  constexpr int64_t min_near = 64;
  bool are_near = false;
  if (with_witnesses) {
    const int64_t near = caches().level2 / 2 / (padded_k * size);
    are_near = near >= min_near;
    if (are_near) {
      NC = equal_parts(n, near, kernel.NR);
      MC = equal_parts(m, caches().level2 / 4 / (NC * cell), kernel.MR);
    }
  }
  // Enough blocks that the threads finish at about the same time.
  constexpr int64_t blocks_each = 16;
  const int64_t wanted = threads > 1 ? ceil_div(blocks_each * threads, batch) : 1;
  while (ceil_div(m, MC) * ceil_div(n, NC) < wanted) {
    if (NC > MC && NC > 4 * kernel.NR) {
      NC = equal_parts(n, NC / 2, kernel.NR);
    } else if (MC > 4 * kernel.MR) {
      MC = equal_parts(m, MC / 2, kernel.MR);
    } else {
      break;
    }
  }
  return {MC, NC, KC, stretch, are_near};
}

/// Keeps the smallest index that any thread reports.
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

/// A product whose operands are packed for one kernel.
class PackedProduct {
 public:
  /// Packs both operands. If the kernel subtracts offsets, `ranges` and `path` must be those of the product.
  PackedProduct(const Problem& problem, const PackedKernel& kernel, const Ranges& ranges = {},
                ArithmeticKind path = ArithmeticKind::kTranslated);

  /// The values in the operands.
  const Ranges& ranges() const { return ranges_; }

  /// C = C0 ⊕ A ⊗ B into `c`; returns the linear index of the first result that overflowed, or kNoOverflow.
  int64_t multiply(ArithmeticKind path, const MutableMatrixView& c);

 private:
  void pack_windows();
  /// All k-steps, in operands.
  int64_t work() const;
  /// Returns the steps of a block's slabs, from the first step of the first slab to the end of the last. There is at
  /// least one slab, because C0 and zero are results, too.
  Span steps_of_block(Span rows, Span cols) const;
  /// Writes block `index` into `c`, and returns the first index that overflowed.
  int64_t multiply_block(int64_t index, const MutableMatrixView& c, BlockRequest& request) const;

  /// Returns the multiple to which the steps of a tile are rounded, in operands. Tiles with notes have whole stretches.
  int64_t k_alignment() const { return blocking_.stretch > 0 ? blocking_.stretch : kernel_.k_multiple; }

  const Problem& problem_;
  const PackedKernel& kernel_;
  const bool is_structured_;
  const int64_t padded_k_;  ///< in operands, as PackRequest's
  const Blocking blocking_;
  const int64_t blocks_m_, blocks_n_;  ///< blocks of C
  PackedOperand a_;
  PackedOperand b_;
  Ranges ranges_;
  std::optional<PackedOperand> windows_a_, windows_b_;  ///< for witnesses
};

PackedProduct::PackedProduct(const Problem& problem, const PackedKernel& kernel, const Ranges& ranges,
                             ArithmeticKind path)
    : problem_(problem),
      kernel_(kernel),
      is_structured_(is_structured(problem)),
      padded_k_(round_up(ceil_div(problem.k(), kernel.steps_per_operand), kernel.k_multiple)),
      blocking_(choose_blocking(kernel, problem.m(), problem.n(), padded_k_, problem.batch, thread_count(),
                                problem.witness.data != nullptr)),
      blocks_m_(ceil_div(problem.m(), blocking_.MC)),
      blocks_n_(ceil_div(problem.n(), blocking_.NC)),
      a_(problem, false, panel_form(problem, kernel, false, padded_k_, blocking_.KC, k_alignment())),
      b_(problem, true, panel_form(problem, kernel, true, padded_k_, blocking_.KC, k_alignment())) {
  if (kernel.takes_offsets) {
    with_semiring<CanOverflow>(problem.operation, [&](auto semiring) {
      using S = decltype(semiring);
      const auto set = [&](const auto& sums) {
        a_.set_offset(sums.offset_a);
        b_.set_offset(sums.offset_b);
      };
      if (Byte<S>::paths.has(path)) {
        set(Byte<S>::for_operands(path, ranges.a, ranges.b));
      } else {
        set(Half<S>::for_operands(path, ranges.a, ranges.b));
      }
    });
  }
  ranges_ = {a_.pack(), b_.pack()};
}

void PackedProduct::pack_windows() {
  const auto pack = [&](std::optional<PackedOperand>& windows, bool is_b, int32_t offset) {
    windows.emplace(problem_, is_b, window_form(problem_, kernel_, is_b)).set_offset(offset);
    windows->pack();
  };
  pack(windows_a_, false, a_.offset());
  pack(windows_b_, true, b_.offset());
}

int64_t PackedProduct::multiply(ArithmeticKind path, const MutableMatrixView& c) {
  a_.fill_border(path);
  b_.fill_border(path);
  const int64_t bytes = blocking_.MC * blocking_.NC * kernel_.accumulator_size;
  const bool keeps = blocking_.KC < padded_k_ || (problem_.witness.data && blocking_.stretch < padded_k_);
  const int64_t count = blocks_m_ * blocks_n_ * problem_.batch, work = this->work();
  std::optional<Slots> accumulators;
  if (keeps) accumulators.emplace(problem_.witness.data ? 2 * bytes : bytes, max_threads(count, work));
  if (problem_.witness.data) pack_windows();
  // Steps of one task.
  constexpr int64_t kStepsAtOnce = 1 << 20;
  FirstIndex overflow;
  for_each_run(problem_, count, work, kStepsAtOnce, [&](int64_t first, int64_t end) {
    BlockRequest request{};
    request.path = path;
    std::optional<Slots::Slot> slot;
    if (keeps) {
      request.accumulators = slot.emplace(*accumulators).data();
      if (windows_a_) request.windows.notes = static_cast<char*>(request.accumulators) + bytes;
    }
    for (int64_t index = first; index < end; ++index) overflow.report(multiply_block(index, c, request));
  });
  return overflow.value();
}

int64_t PackedProduct::work() const {
  if (!is_structured_) return saturating_product(problem_.outputs(), padded_k_);
  const double steps = steps_of(problem_) / kernel_.steps_per_operand;
  return static_cast<int64_t>(std::min(steps, 0x1p62));
}

Span PackedProduct::steps_of_block(Span rows, Span cols) const {
  if (!is_structured_) return {0, padded_k_};
  const int64_t KC = blocking_.KC;
  const Span steps = problem_.structure.steps(rows, cols, problem_.k());
  if (steps.is_empty()) return {0, std::min(KC, padded_k_)};
  const int64_t each = kernel_.steps_per_operand;
  return {steps.first / each / KC * KC, std::min(round_up(ceil_div(steps.end, each), KC), padded_k_)};
}

int64_t PackedProduct::multiply_block(int64_t index, const MutableMatrixView& c, BlockRequest& request) const {
  const int64_t blocks = blocks_m_ * blocks_n_;
  const int64_t batch = index / blocks;
  // Consecutive blocks share columns of B, so threads that run at the same time do too.
  const int64_t row = index % blocks % blocks_m_ * blocking_.MC;
  const int64_t col = index % blocks / blocks_m_ * blocking_.NC;
  request.rows = std::min(blocking_.MC, problem_.m() - row);
  request.cols = std::min(blocking_.NC, problem_.n() - col);
  const Span rows{row, row + request.rows}, cols{col, col + request.cols};
  const auto count = [&](int64_t steps) {
    const double share = static_cast<double>(steps) / static_cast<double>(padded_k_);
    problem_.count_steps(static_cast<double>(request.rows * request.cols), share);
  };
  if (is_structured_ && !problem_.structure.c.has_some(rows, cols)) {
    count(padded_k_);
    return kNoOverflow;
  }
  const Span slabs = steps_of_block(rows, cols);
  request.is_structured = is_structured_;
  request.structure = problem_.structure.from(row, col);
  request.k = problem_.k();
  request.k_alignment = k_alignment();
  request.results = results_from(problem_, c, batch, row, col);
  request.results.offset_a = a_.offset();
  request.results.offset_b = b_.offset();
  if (windows_a_) {
    request.windows.a = windows_a_->item(batch);
    request.windows.b = windows_b_->item(batch);
    request.windows.row = row;
    request.windows.col = col;
    request.windows.count = windows_a_->panels();
    request.windows.are_near = blocking_.windows_are_near;
    request.windows.of_stretch = blocking_.stretch / kernel_.window;
  }
  int64_t overflow = kNoOverflow;
  for (int64_t k = slabs.first; k < slabs.end; k += blocking_.KC) {
    if (k > slabs.first) check_cancelled(problem_);
    request.a = a_.panel(batch, k, row);
    request.b = b_.panel(batch, k, col);
    request.steps = std::min(blocking_.KC, padded_k_ - k);
    if (windows_a_) request.stretch = k / blocking_.stretch;
    request.starts = k == slabs.first;
    request.ends = k + request.steps == slabs.end;
    request.first_step = k;
    overflow = std::min(overflow, kernel_.multiply(request));
    count(request.steps);
  }
  if (const int64_t skipped = padded_k_ - (slabs.end - slabs.first)) count(skipped);
  return overflow;
}

/// C = C0 ⊕ A ⊗ B of truth values into `c`, and the witnesses.
void multiply_first_true(const Problem& problem, const FirstTrueKernel& kernel, const MutableMatrixView& c) {
  // Elements in a word of packed bits, and operations on words in a task.
  constexpr int64_t kWordSteps = 64, kStepsAtOnce = 1 << 20;
  // Rows of a block, limit of the listed steps of a block, and chunks of columns per task. The lists of a block stay in
  // the second-level cache while they are used for all chunks of a task.
  constexpr int64_t kRowsAtOnce = 64, kListedAtOnce = 1 << 16, kChunksAtOnce = 8;
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
  const int64_t count = blocks * runs * problem.batch;
  Slots slots(checked_size(sizeof(int32_t) * rows, list_length), max_threads(count, work));
  for_each_run(problem, count, work, kStepsAtOnce, [&](int64_t first, int64_t end) {
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

/// PackedProduct::multiply() for a kernel that reads the operands in place.
int64_t multiply_rows(const Problem& problem, const RowsKernel& kernel, ArithmeticKind path,
                      const MutableMatrixView& c) {
  constexpr int64_t steps_at_once = 1 << 16;
  const int64_t work = saturating_product(problem.outputs(), problem.k());
  FirstIndex overflow;
  for_each_run(problem, problem.batch * problem.m(), work, steps_at_once, [&](int64_t first, int64_t end) {
    for (int64_t row = first; row < end; ++row) {
      const int64_t batch = row / problem.m();
      const int64_t row_of_item = row - batch * problem.m();
      overflow.report(kernel.multiply(problem, path, c, batch, row_of_item, row_of_item + 1));
      problem.count_steps(static_cast<double>(problem.n()));
    }
  });
  return overflow.value();
}

/// Allocates the memory of C if C was created for this product.
void claim_result(const Problem& problem) {
  const MutableMatrixView& c = problem.c;
  if (c.memory || !c.data || problem.outputs() == 0) return;
  const int64_t last = (problem.batch - 1) * c.batch_stride + (c.rows - 1) * c.row_stride + (c.cols - 1) * c.col_stride;
  claim_memory(c.data, static_cast<size_t>((last + 1) * element_bytes(problem.operation.dtype)), "the result");
}

/// Returns the known ranges of the operands, or the result of `scan` if there are none.
template <class Scan>
Ranges ranges_of(const Problem& problem, Scan scan) {
  if (problem.known) {
    const ValueRange& known = problem.known_operands ? *problem.known_operands : *problem.known;
    return {known, known};
  }
  const Ranges ranges = scan();
  require_elements(problem, ranges.a, ranges.b);
  return ranges;
}

class ProductRun {
 public:
  ProductRun(const Problem& problem, const Variant* requested, const Planner& planner)
      : problem_(problem), requested_(requested), planner_(planner) {}

  Outcome run() const {
    if (requested_) {
      const std::string refused = planner_.refusal(problem_, *requested_);
      if (!refused.empty()) {
        throw Error(ErrorCode::kVariant,
                    "variant " + std::string(requested_->name) + " can't run this product: " + refused);
      }
      if (planner_.kernel_of(*requested_).rows.multiply) return multiply_in_place();
    }
    const Variant& likely = *planner_.likely_variant(problem_, requested_);
    const Kernel& kernel = planner_.kernel_of(likely);
    if (kernel.thin.accumulate) return multiply_thin(likely);
    if (problem_.witness.data && kernel.first_true.multiply) return find_first_true(likely);
    std::optional<PackedProduct> product;
    const Ranges ranges = ranges_of(problem_, [&] {
      if (planner_.is_unlikely(likely, problem_, requested_)) return scan(problem_);
      return product.emplace(problem_, kernel.packed).ranges();
    });
    const Plan plan = planner_.plan(problem_, ranges, requested_, &likely);
    return write(plan, [&](const MutableMatrixView& c) {
      if (!product || plan.variant != &likely) {
        product.emplace(problem_, planner_.kernel_of(*plan.variant).packed, ranges, plan.path);
      }
      return product->multiply(plan.path, c);
    });
  }

 private:
  /// Writes the results of `multiply(c)`, which returns the index of the first overflowed result. If overflow is an
  /// error, throws Error and leaves C unchanged.
  template <class Multiply>
  Outcome write(const Plan& plan, Multiply&& multiply, double analysis_ms = 0) const {
    const Destination destination(problem_, may_overflow(problem_, plan.path));
    const int64_t overflow = multiply(destination.view());
    if (problem_.operation.overflow == OverflowPolicy::kThrow && overflow != kNoOverflow) {
      throw overflow_error(problem_, overflow);
    }
    destination.commit([&](int64_t rows, const Destination::CopyRows& copy) {
      for_each_run_of_elements(problem_, rows, problem_.n(), copy);
    });
    Outcome outcome;
    outcome.plan = plan;
    outcome.timing.analysis = analysis_ms;
    outcome.timing.kernel = milliseconds_since(start_) - analysis_ms;
    return outcome;
  }

  Outcome multiply_thin(const Variant& likely) const {
    std::optional<ThinProduct> product;
    const ArithmeticKind any = !can_overflow(problem_.operation)                      ? ArithmeticKind::kDirect
                               : problem_.operation.overflow == OverflowPolicy::kWrap ? ArithmeticKind::kWrapping
                                                                                      : ArithmeticKind::kWide;
    const Ranges ranges =
        ranges_of(problem_, [&] { return product.emplace(problem_, planner_.kernel_of(likely)).accumulate(any); });
    const Plan plan = planner_.plan(problem_, ranges, requested_, &likely);
    if (!product || plan.variant != &likely) {
      if (product) product->retract_steps();
      product.emplace(problem_, planner_.kernel_of(*plan.variant)).accumulate(plan.path);
    }
    return write(plan, [&](const MutableMatrixView& c) { return product->finish(plan.path, c); });
  }

  /// Truth values can't overflow, so their ranges aren't needed.
  Outcome find_first_true(const Variant& variant) const {
    return write(planner_.plan(problem_, {}, &variant, &variant), [&](const MutableMatrixView& c) {
      multiply_first_true(problem_, planner_.kernel_of(variant).first_true, c);
      return kNoOverflow;
    });
  }

  /// Computes with a requested kernel that packs no operand.
  Outcome multiply_in_place() const {
    const Ranges ranges = ranges_of(problem_, [&] { return scan(problem_); });
    const double analysis_ms = milliseconds_since(start_);
    const Plan plan = planner_.plan(problem_, ranges, requested_, requested_);
    const RowsKernel& kernel = planner_.kernel_of(*requested_).rows;
    return write(
        plan, [&](const MutableMatrixView& c) { return multiply_rows(problem_, kernel, plan.path, c); }, analysis_ms);
  }

  const Problem& problem_;
  const Variant* const requested_;
  const Planner& planner_;
  const Clock::time_point start_ = Clock::now();
};

/// Computes C = C0 ⊕ zero.
Outcome compute_without_steps(const Problem& problem, const Variant* requested, const Planner& planner) {
  Outcome outcome;
  outcome.plan = plan_without_steps(problem.operation, planner.variants(), requested);
  store_without_steps(problem);
  return outcome;
}

}  // namespace

Outcome compute(const Problem& problem, const Variant* requested, const Planner& planner) {
  if (!problem.has_steps()) return compute_without_steps(problem, requested, planner);
  if (!problem.known) require_elements_of_c0(problem);
  planner.require_settings();
  claim_result(problem);
  try {
    return ProductRun(problem, requested, planner).run();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kOutOfMemory, "the cpu backend found no memory for a product of " +
                                             std::to_string(problem.batch) + " × [" + std::to_string(problem.m()) +
                                             ", " + std::to_string(problem.k()) + "] by [" +
                                             std::to_string(problem.k()) + ", " + std::to_string(problem.n()) + "]");
  }
}

Ranges scan(const Problem& problem) {
  if (!can_overflow(problem.operation) && !restricts_elements(problem.operation)) return {};
  const auto scan_one = [&](const MatrixView& view, const Band& band) {
    return scan_matrices(problem.operation, view, problem.batch, band, scan_runs_of(problem));
  };
  return {scan_one(problem.a, problem.structure.a), scan_one(problem.b, problem.structure.b)};
}

Ranges sample(const Problem& problem) {
  constexpr uint64_t kSamples = 64, kGoldenRatio = 0x9e3779b97f4a7c15;
  return with_semiring<CanOverflow>(problem.operation, [&](auto semiring) {
    using S = decltype(semiring);
    const auto sample_one = [&](const MatrixView& view, const Band& band) {
      const auto rows = static_cast<uint64_t>(items_of(view, problem.batch) * view.rows);
      ValueRange range;
      range.has_zero = !band.is_all(view.rows, view.cols);
      for (uint64_t index = 0; index < kSamples; ++index) {
        // Multiples of the golden ratio spread evenly.
        const uint64_t mixed = index * kGoldenRatio;
        const auto row = static_cast<int64_t>((mixed >> 32) % rows), item = row / view.rows;
        const Span inside = span_of_row(band, row % view.rows, view.cols);
        if (inside.is_empty()) continue;
        const auto count = static_cast<uint64_t>(inside.end - inside.first);
        const auto col = inside.first + static_cast<int64_t>((mixed & 0xffffffff) % count);
        const auto value = element_at<S>(view, item, row % view.rows, col);
        if (value == S::zero) {
          range.has_zero = true;
        } else {
          range.merge({value, value, false, false});
        }
      }
      return range;
    };
    return Ranges{sample_one(problem.a, problem.structure.a), sample_one(problem.b, problem.structure.b)};
  });
}

}  // namespace mpmml::cpu
