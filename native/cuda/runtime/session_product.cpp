#include "cuda/runtime/session_product.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/algebra/dispatch.h"
#include "core/problem/destination.h"
#include "core/problem/region.h"
#include "core/problem/structured.h"
#include "core/session/blocks.h"
#include "core/status.h"
#include "cuda/device/error.h"
#include "cuda/runtime/band_copy.h"
#include "cuda/runtime/elementwise.h"
#include "cuda/runtime/session_source.h"

namespace mpmml::cuda {
namespace {

/// Number of k-steps from which operands with derived bounds are scanned for levels. The scan takes 0.8 % of a product
/// of this size (estimated for an H200).
constexpr double kStepsWorthAScan = 2e11;

/// A part of a product with its operands.
struct ReadyPart {
  double steps;
  Operand a, b;
  RegionPlan plan;
};

class ResidentProduct {
 public:
  ResidentProduct(const Problem& problem, const Placement& where, Planner& planner, SessionDevice& device, Lane& lane)
      : problem_(problem),
        dtype_(problem.operation.dtype),
        where_(where),
        device_(device),
        lane_(lane),
        sources_(problem, device),
        planner_(planner),
        executor_(problem, where, device, lane, Executor::Timed::kKernel) {}

  QueuedProduct run() {
    if (problem_.is_cancelled()) throw aborted();
    if (problem_.outputs() == 0) {
      result_.outcome.plan = plan_for({}, {});
      return std::move(result_);
    }
    find_sources();
    if (problem_.c0.data) {
      c0_ = sources_.find(problem_.c0, problem_.structure.c);
      c0_.is_operand = false;
    }
    sources_.require_elements(c0_, "accumulate");
    if (problem_.k() == 0) {
      store_without_steps();
    } else {
      require_operands();
      multiply();
    }
    write_c(stores_all());
    write_auxiliary(stores_all());
    result_.outcome.timing.h2d = sources_.copying();
    return std::move(result_);
  }

  Plan plan() {
    find_sources();
    require_operands();
    return choose();
  }

 private:
  cudaStream_t stream() const { return device_.stream(); }
  ValueRange range(const Source& source) const { return sources_.range(source); }
  Plan plan_for(const ValueRange& a, const ValueRange& b) const { return planner_.plan(problem_, a, b, where_); }

  void find_sources() {
    a_ = sources_.find(problem_.a, problem_.structure.a);
    b_ = sources_.find(problem_.b, problem_.structure.b);
  }
  void require_operands() {
    sources_.require_elements(a_, "a");
    sources_.require_elements(b_, "b");
  }

  /// Returns whether every element of C is a result.
  bool stores_all() const { return problem_.structure.c.is_all(problem_.m(), problem_.n()); }

  /// Computes C = C0 ⊕ zero.
  void store_without_steps() {
    result_.outcome.plan = plan_for({}, {});
    const bool keeps_auxiliary = problem_.updates_auxiliary();
    const DeviceBuffer c_apart = apart_unless_all(dtype_);
    // A single buffer for all outputs, because each is copied before the next is filled.
    const DeviceBuffer auxiliary_apart =
        apart_unless_all(kAuxiliaryType, requested_auxiliary(problem_) != 0 && !keeps_auxiliary);
    write_c(false);
    const double zero =
        with_semiring(problem_.operation, [](auto semiring) { return static_cast<double>(decltype(semiring)::zero); });
    store_inside(dtype_, problem_.c, c_apart, [&](const MutableMatrixView& c) {
      if (c0_.view.data == c.data) return settle_matrices(problem_.operation, problem_.batch, c, stream());
      fill_matrices(dtype_, problem_.batch, c, zero, stream());
      if (c0_.view.data) combine_matrices(problem_.operation, problem_.batch, c, c0_.view, stream());
    });
    if (keeps_auxiliary) return;
    for_auxiliary(problem_, [&](const AuxiliaryOutput& it) {
      store_inside(kAuxiliaryType, problem_.*it.view, auxiliary_apart, [&](const MutableMatrixView& to) {
        fill_matrices(kAuxiliaryType, problem_.batch, to, it.none, stream());
      });
    });
  }

  /// Returns a separate buffer for the results, if C has elements that aren't results.
  DeviceBuffer apart_unless_all(DataType dtype, bool is_needed = true) {
    return is_needed && !stores_all() ? apart(dtype) : DeviceBuffer();
  }
  DeviceBuffer apart(DataType dtype) { return device_.workspace(problem_.outputs() * element_bytes(dtype)); }

  /// Calls `store` with `target`, or with the buffer `apart`, from which only the results are copied to `target`.
  template <class Store>
  void store_inside(DataType dtype, const MutableMatrixView& target, const DeviceBuffer& apart, Store&& store) {
    if (!apart.get()) return store(target);
    const MutableMatrixView all = row_major(apart.get(), problem_.m(), problem_.n());
    store(all);
    copy_inside(dtype, problem_.batch, read_only(all), problem_.structure.c, target, stream());
  }

  /// Scans the lines of the operands, if the result may allow an exponent family.
  void scan_lines() {
    if (a_.is_banded() || b_.is_banded()) return;
    const Operation& operation = problem_.operation;
    if (!may_scan_lines(problem_, where_, planner_)) return;
    if (exact_arithmetics(operation, range(a_), range(b_)).has(ArithmeticKind::kExponent)) return;
    const double steps = double(problem_.outputs()) * problem_.k();
    if (!(a_.is_exact && b_.is_exact) && steps < kStepsWorthAScan && !where_.variant) return;
    const OperandLines lines_a = lines_of(a_.view, Side::kA, items_of(a_.view, problem_.batch)),
                       lines_b = lines_of(b_.view, Side::kB, items_of(b_.view, problem_.batch));
    sources_.scan(a_);
    sources_.scan(b_);
    const bool maximizes = with_semiring(operation, [](auto semiring) { return decltype(semiring)::maximizes; });
    KnownLines copied_a{lines_a, maximizes}, copied_b{lines_b, maximizes};
    KnownLines& known_a = a_.memory ? a_.memory->known_lines(lines_a, maximizes) : copied_a;
    KnownLines& known_b = b_.memory ? b_.memory->known_lines(lines_b, maximizes) : copied_b;
    device_.sample_levels(operation, {&known_a, &known_b});
    const WorthScanning worth = worth_scanning(operation, range(a_), known_a.found.levels(operation.dtype), range(b_),
                                               known_b.found.levels(operation.dtype));
    const auto find = [&](Source& source, KnownLines& known) {
      device_.find_levels(operation, known, range(source).has_zero);
      source.levels = known.found.levels(operation.dtype);
    };
    if (worth.a) find(a_, known_a);
    if (worth.b) find(b_, known_b);
  }

  /// Returns the plan for the bounds of the operands. Scans the elements first if the bounds don't exclude overflow.
  Plan choose() {
    scan_lines();
    Plan plan = plan_for(range(a_), range(b_));
    const bool suffices = plan.path < ArithmeticKind::kWide || problem_.known || (a_.is_exact && b_.is_exact);
    if (!suffices) {
      sources_.scan(a_);
      sources_.scan(b_);
      plan = plan_for(range(a_), range(b_));
    }
    return executor_.improve(plan, range(a_), a_.view, range(b_), b_.view);
  }

  void multiply() {
    const Plan plan = choose();
    const Kernel& kernel = executor_.kernel_for(plan, range(a_), range(b_));
    result_.outcome.plan = plan;
    ResultTarget target(problem_, may_overflow(problem_, plan.path), takes_stores(problem_.c, dtype_, problem_.batch));
    DeviceBuffer results;
    if (target.is_separate()) {
      results = device_.workspace(target.bytes());
      target.place(results.get());
    }
    there_ = target.there(problem_);
    const bool searches = executor_.leaves_auxiliary(*plan.variant, kernel);
    if ((searches && problem_.through.data) || repairs_in_place()) keep_c0();
    if (repairs_in_place()) c0_.view = kept_c0();
    if (searches || kernel.notes_chunks) {
      sources_.cleared(a_);
      sources_.cleared(b_);
    }
    // From here on, a cancelled product leaves a mix of old and new elements.
    if (!target.is_separate()) write_c(false);
    write_auxiliary(false);
    there_.a = a_.view;
    there_.b = b_.view;
    there_.c0 = c0_.view;
    std::vector<ReadyPart> parts = prepare(plan, kernel);
    for (ReadyPart& part : parts) launch(part);
    for (ReadyPart& part : parts) {
      part.a.release_form();
      part.b.release_form();
    }
    executor_.require_no_overflow();
    if (searches) {
      for (const ReadyPart& part : parts) {
        result_.launches.push_back(executor_.find_auxiliary(part.plan, part.a, part.b, kept_c0(), stream()));
      }
    }
    result_.end = result_.launches.back().computed;
    target.commit([&](const MatrixView& from, const MutableMatrixView& c) {
      write_c(false);
      copy_inside(dtype_, problem_.batch, from, problem_.structure.c, c, stream());
      result_.end = nullptr;
    });
  }

  double steps_of_part(const Region& region) const {
    return cost_of_step(problem_.operation) * steps_of(sub(problem_, region));
  }

  /// Calls `take` with parts of a product that are short enough and that satisfy `fits`.
  template <class Fits, class Take>
  void divide(const Region& region, const Fits& fits, const Take& take) {
    const double steps = steps_of_part(region);
    const bool by_items = region.items.size() > 1;
    const Axis axis = longest_axis(region);
    const int64_t size = (region.*axis).size();
    const bool is_long = steps > SessionDevice::kMaxSteps && (by_items || size > 2 * kGranule);
    if (!is_long && (fits(region) || (!by_items && size <= kMinBlockSide))) return take(region, steps);
    const auto [before, after] = halves(region, axis, by_items ? 1 : is_long ? kGranule : kMinBlockSide);
    divide(before, fits, take);
    divide(after, fits, take);
  }

  /// Allocates the memory for all parts of a product, because no allocation may fail after the first launch.
  std::vector<ReadyPart> prepare(const Plan& plan, const Kernel& kernel) {
    std::vector<ReadyPart> parts;
    try {
      if (keep_forms(plan, kernel, parts)) return parts;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kOutOfMemory) throw;
    }
    parts.clear();
    pack_in_turn(plan, kernel, parts);
    return parts;
  }

  /// Packs operands once, for all parts and for later products. Returns whether the memory suffices.
  bool keep_forms(const Plan& plan, const Kernel& kernel, std::vector<ReadyPart>& parts) {
    divide(
        whole(problem_), [](const Region&) { return true; },
        [&](const Region& region, double steps) { parts.push_back(ready(plan, kernel, region, steps, true)); });
    int64_t beside = 0;
    for (ReadyPart& part : parts) {
      beside = std::max(beside, part.plan.room_bytes);
      const Launch& launch = part.plan.launch;
      const int64_t kept =
          part.a.bytes_to_keep(kernel, launch, Side::kA) + part.b.bytes_to_keep(kernel, launch, Side::kB);
      if (!device_.make_room_for_forms(beside, kept)) return false;
      part.a.keep_packed(kernel, launch, Side::kA, lane_);
      part.b.keep_packed(kernel, launch, Side::kB, lane_);
    }
    room_ = ScratchArena(beside, device_.device(), stream());
    return true;
  }

  /// Lets each part pack its operands before its launch, in memory that the next part reuses. Divides parts until the
  /// memory suffices.
  void pack_in_turn(const Plan& plan, const Kernel& kernel, std::vector<ReadyPart>& parts) {
    for (Source* source : {&a_, &b_}) {
      source->forms.clear();
      source->cleared_forms.clear();
    }
    int64_t most = 0;
    divide(
        whole(problem_),
        [&](const Region& region) { return device_.make_room(ready(plan, kernel, region, 0, false).plan.room_bytes); },
        [&](const Region& region, double steps) {
          parts.push_back(ready(plan, kernel, region, steps, false));
          most = std::max(most, parts.back().plan.room_bytes);
        });
    room_ = ScratchArena(most, device_.device(), stream());
  }

  ReadyPart ready(const Plan& plan, const Kernel& kernel, const Region& region, double steps, bool keeps_forms) {
    Operand a = operand(a_, region, Side::kA, kernel, keeps_forms),
            b = operand(b_, region, Side::kB, kernel, keeps_forms);
    RegionPlan planned = executor_.plan(plan, kernel, region, sub(there_, region), a, b);
    planned.launch.stream = stream();
    return {steps, std::move(a), std::move(b), planned};
  }

  void launch(ReadyPart& part) {
    device_.queue_in_turn(
        part.steps, stream(), [&] { return problem_.is_cancelled(); },
        [&] {
          room_.begin_again();
          result_.launches.push_back(executor_.launch(part.plan, part.a, part.b, stream(), &room_));
        });
  }

  /// Returns whether repair_nan() may need elements of C0 that the product has overwritten.
  bool repairs_in_place() const { return c0_.view.data && adds_floats(problem_.operation) && is_structured(problem_); }

  /// Copies C0, because the product's kernel doesn't report which results it has improved, and C0 may alias C.
  void keep_c0() {
    if (!c0_.view.data) return;
    kept_c0_ = apart(dtype_);
    copy_matrices(dtype_, problem_.batch, c0_.view, row_major(kept_c0_.get(), problem_.m(), problem_.n()), stream());
  }
  MatrixView kept_c0() const { return row_major<const void*>(kept_c0_.get(), problem_.m(), problem_.n()); }

  /// Marks C as written: before the kernels run, and at the end with `all` if every element of C is a result.
  void write_c(bool all) {
    ResidentMemory& memory = resident(problem_.c.memory);
    memory.written(all && memory.is_covered_by(problem_.c, dtype_, problem_.batch), result_facts(), false);
  }
  void write_auxiliary(bool all) {
    for_auxiliary(problem_, [&](const AuxiliaryOutput& it) {
      const MutableMatrixView& view = problem_.*it.view;
      ResidentMemory& memory = resident(view.memory);
      ValueBounds facts;
      // Indices of k-steps, or their number.
      facts.has_negative = it.none < 0;
      facts.include(it.none, problem_.k());
      if (problem_.updates_auxiliary()) facts = resident(problem_.through.memory).facts();
      const bool is_all =
          all && !problem_.updates_auxiliary() && memory.is_covered_by(view, kAuxiliaryType, problem_.batch);
      memory.written(is_all, facts, false);
    });
  }

  MatrixView view_of(const MatrixView& view, const Region& region, Side side) const {
    const Span steps{0, problem_.k()};
    return side == Side::kA ? sub(view, dtype_, {region.items, region.rows, steps})
                            : sub(view, dtype_, {region.items, steps, region.cols});
  }

  Operand operand(Source& source, const Region& region, Side side, const Kernel& kernel, bool keeps_forms) {
    const auto from = [&](const MatrixView& view, PackedForms& forms) {
      const MatrixView& searched = source.is_banded() ? source.cleared : view;
      return Operand(problem_.operation, view_of(view, region, side), region.items.size(), range(source),
                     keeps_forms ? &forms : nullptr, view_of(searched, region, side));
    };
    if (source.is_banded() && !kernel.packs_bands) return from(sources_.cleared(source), source.cleared_forms);
    // Packings of a session with a reservation are released with the product.
    return from(source.view, source.memory && device_.reserved() == 0 ? source.memory->forms() : source.forms);
  }

  ValueBounds result_facts() const {
    if (problem_.known) return facts_in(problem_.operation, *problem_.known, Storage::kElement);
    ValueBounds facts;
    if (problem_.k() > 0) {
      facts = facts_of_product(problem_.operation, a_.facts, a_.view.storage, b_.facts, b_.view.storage);
    } else {
      facts = with_semiring(problem_.operation, [](auto semiring) { return facts_of_value(decltype(semiring)::zero); });
    }
    if (!c0_.view.data) return facts;
    return facts_of_combination(problem_.operation, facts, c0_.facts, c0_.view.storage);
  }

  const Problem& problem_;
  const DataType dtype_;
  const Placement& where_;
  SessionDevice& device_;
  Lane& lane_;
  Sources sources_;
  Planner& planner_;
  Executor executor_;
  Source a_, b_, c0_;
  Problem there_;  ///< the product with all matrices on the device
  DeviceBuffer kept_c0_;
  ScratchArena room_;
  QueuedProduct result_{&problem_, {}, {}, {}, 1, nullptr};
};

}  // namespace

bool takes_stores(const MutableMatrixView& c, DataType dtype, int64_t batch) {
  if (c.cols > 1 && c.col_stride != 1) return false;
  const int64_t chunk = chunk_elements(element_bytes(dtype));
  if (c.row_stride % chunk != 0) return true;
  return reinterpret_cast<uintptr_t>(c.data) % (chunk * element_bytes(dtype)) == 0 &&
         (batch <= 1 || c.batch_stride % chunk == 0);
}

QueuedProduct queue_product(const Problem& problem, const Placement& where, Planner& planner, SessionDevice& device,
                            Lane& lane) {
  return ResidentProduct(problem, where, planner, device, lane).run();
}

Plan plan_product(const Problem& problem, const Placement& where, Planner& planner, SessionDevice& device, Lane& lane) {
  return ResidentProduct(problem, where, planner, device, lane).plan();
}

}  // namespace mpmml::cuda
