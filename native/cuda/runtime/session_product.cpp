#include "cuda/runtime/session_product.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/dispatch.h"
#include "core/overflow.h"
#include "core/scan.h"
#include "core/status.h"
#include "core/structured.h"
#include "cuda/plan/blocks.h"
#include "cuda/runtime/banded.h"
#include "cuda/runtime/divided.h"
#include "cuda/runtime/elementwise.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/ranked_look.h"
#include "cuda/runtime/witness.h"

namespace mpmml::cuda {
namespace {

constexpr int64_t kLeastSide = 128;  ///< a part isn't divided below this

/// A larger part is divided, so that a product can be given up: 20 ms on an H200.
constexpr double kMostSteps = 3e11;
/// A step of the search through all of K takes longer than one of a product (estimated).
constexpr double kSearchCost = 8;
/// From so many steps on, operands of which only bounds are known are scanned to find out whether they have few levels. The
/// scan takes 0.8 % of such a product (estimated for an H200).
constexpr double kStepsWorthAScan = 2e11;
constexpr int64_t kGranule = 512;  ///< rows or columns, so that a part consists of whole tiles

/// An operand, C0 included, and what is known of what is inside its band.
struct Source {
  MatrixView view;
  Band band;
  ResidentMemory* memory = nullptr;  ///< null if the matrix was copied from the host for this product
  Facts facts;
  LineLevels levels;
  bool is_exact = true;
  DeviceBuffer copied;
  PackedForms forms;
  /// A copy that is zero outside the band, if somebody has needed one.
  MatrixView cleared;
  DeviceBuffer cleared_buffer;
  PackedForms cleared_forms;

  bool is_banded() const { return !band.is_all(view.rows, view.cols); }
};

class ResidentProduct {
 public:
  ResidentProduct(const Problem& problem, const Placement& where, const SessionPlanner& planner, SessionDevice& device,
                  Lane& lane)
      : problem_(problem),
        dtype_(problem.operation.dtype),
        where_(where),
        device_(device),
        lane_(lane),
        planner_([&](const ValueRange& a, const ValueRange& b) { return planner(problem_, a, b, where_); }) {}

  QueuedProduct run() {
    if (problem_.is_cancelled()) throw given_up();
    if (problem_.outputs() == 0) {
      result_.outcome.plan = planner_({}, {});
      return std::move(result_);
    }
    ResidentMemory& target = resident(problem_.c.memory);
    target.wait_for_readers();
    if (problem_.witness.data) resident(problem_.witness.memory).wait_for_readers();
    find_sources();
    if (problem_.c0.data) c0_ = source(problem_.c0, problem_.structure.c);
    require_elements(c0_, "accumulate");
    if (problem_.k() == 0) {
      store_without_steps();
    } else {
      require_elements(a_, "a");
      require_elements(b_, "b");
      multiply();
    }
    const bool is_all = stores_all() && target.is_covered_by(problem_.c, dtype_, problem_.batch);
    target.written(is_all, result_facts(), false);
    if (problem_.witness.data) witnesses_are_written();
    return std::move(result_);
  }

  Plan plan() {
    find_sources();
    require_elements(a_, "a");
    require_elements(b_, "b");
    return choose();
  }

 private:
  cudaStream_t stream() const { return device_.stream(); }
  ValueRange range(const Source& source) const {
    if (problem_.known) {
      ValueRange known = problem_.known_operands && &source != &c0_ ? *problem_.known_operands : *problem_.known;
      known.has_zero = known.has_zero || source.is_banded();
      return known;
    }
    ValueRange range = range_of(problem_.operation, source.facts, source.view.storage);
    range.levels = source.levels;
    return range;
  }

  /// Whether every element of C is a result.
  bool stores_all() const { return problem_.structure.c.is_all(problem_.m(), problem_.n()); }

  void find_sources() {
    a_ = source(problem_.a, problem_.structure.a);
    b_ = source(problem_.b, problem_.structure.b);
  }

  Source source(const MatrixView& view, const Band& band) {
    Source source;
    source.view = view;
    source.band = band;
    if (view.memory) {
      source.memory = &resident(view.memory);
      // If there is a band, these are bounds.
      source.facts = source.memory->facts();
      source.is_exact = source.memory->is_exact() && !source.is_banded();
      include_outside(source);
      return source;
    }
    const auto start = std::chrono::steady_clock::now();
    const HostLayout host = host_layout(view, problem_.batch, dtype_, true);
    source.copied = device_.workspace(host.bytes());
    device_.upload(host, source.copied.get(), problem_.cancelled);
    source.view = Lines(view).copied_to(source.copied.get(), view, host.items);
    source.view.storage = view.storage;
    clear_outside(problem_.operation, host.items, source.view, band, stream());
    source.band = {};
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    result_.outcome.timing.h2d += taken.count();
    source.facts = no_facts();
    source.is_exact = false;
    if (must_scan(problem_.operation) && !problem_.known) look_at(source, host.elements());
    return source;
  }

  /// What is outside the band is zero.
  void include_outside(Source& source) const {
    if (!source.is_banded()) return;
    source.facts.merge(
        with_semiring(problem_.operation, [](auto semiring) { return facts_of_value(decltype(semiring)::zero); }));
  }

  /// The source as a matrix that is zero outside its band.
  const MatrixView& cleared(Source& source) {
    if (!source.is_banded()) return source.view;
    if (source.cleared.data) return source.cleared;
    const MatrixView& view = source.view;
    const int64_t items = items_of(view, problem_.batch);
    source.cleared_buffer = device_.workspace(items * view.rows * view.cols * stored_bytes(dtype_, view.storage));
    source.cleared = Lines(view).copied_to(source.cleared_buffer.get(), view, items);
    source.cleared.storage = view.storage;
    const MutableMatrixView to{
        source.cleared_buffer.get(), view.rows, view.cols, source.cleared.row_stride, source.cleared.col_stride,
        source.cleared.batch_stride};
    copy_inside(dtype_, items, view, source.band, to, stream());
    clear_outside(problem_.operation, items, source.cleared, source.band, stream());
    return source.cleared;
  }

  /// Replaces a bound by what the elements are.
  void look_at(Source& source, int64_t elements) {
    if (source.is_exact) return;
    source.is_exact = true;
    if (source.is_banded()) {
      source.facts = device_.scan_inside(dtype_, items_of(source.view, problem_.batch), source.view, source.band);
      include_outside(source);
      return;
    }
    if (!source.memory) {
      source.facts = device_.scan(dtype_, source.view.storage, source.view.data, elements);
      return;
    }
    source.memory->found(device_.scan(dtype_, source.view.storage, *source.memory));
    source.facts = source.memory->facts();
  }
  void look_at(Source& source) { look_at(source, 0); }

  void require_elements(Source& source, const char* name) {
    if (!source.view.data || !range(source).has_outsider) return;
    look_at(source);
    if (!range(source).has_outsider) return;
    const SessionDevice::HostCopy copy = device_.fetch(dtype_, problem_.batch, cleared(source));
    mpmml::require_elements(problem_.operation, copy.view, problem_.batch, name);
    // They are elsewhere in the memory.
    source.facts.has_negative = false;
  }

  /// C = C0 ⊕ zero.
  void store_without_steps() {
    const double zero =
        with_semiring(problem_.operation, [](auto semiring) { return static_cast<double>(decltype(semiring)::zero); });
    store_inside(dtype_, problem_.c, [&](const MutableMatrixView& c) {
      const bool in_place = c0_.view.data == c.data;
      if (!in_place) fill_matrices(dtype_, problem_.batch, c, zero, stream());
      const bool accumulates = c0_.view.data && (!in_place || with_semiring(problem_.operation, [](auto semiring) {
                                 return decltype(semiring)::idempotent;
                               }));
      if (accumulates) combine_matrices(problem_.operation, problem_.batch, c, c0_.view, stream());
    });
    if (problem_.witness.data && !problem_.through.data) {
      store_inside(DataType::kInt32, problem_.witness, [&](const MutableMatrixView& witness) {
        fill_matrices(DataType::kInt32, problem_.batch, witness, -1, stream());
      });
    }
    result_.outcome.plan = planner_({}, {});
  }

  /// Calls `store` with `target`, or with another matrix of which only results go there.
  template <class Store>
  void store_inside(DataType dtype, const MutableMatrixView& target, Store&& store) {
    if (stores_all()) return store(target);
    const DeviceBuffer apart = device_.workspace(problem_.outputs() * element_bytes(dtype));
    const MutableMatrixView all = row_major(apart.get(), problem_.m(), problem_.n());
    store(all);
    copy_inside(dtype, problem_.batch, read_only(all), problem_.structure.c, target, stream());
  }

  /// Looks at the lines of the operands, if that may lead to exponents.
  void look_at_lines() {
    if (a_.is_banded() || b_.is_banded()) return;
    const Operation& operation = problem_.operation;
    if (!may_look_at_lines(problem_, where_.variant != nullptr, planner_)) return;
    if (exact_paths(operation, range(a_), range(b_)).has(RangePath::kExponent)) return;
    const double steps = double(problem_.outputs()) * problem_.k();
    if (!(a_.is_exact && b_.is_exact) && steps < kStepsWorthAScan && !where_.variant) return;
    const OperandLines lines_a = lines_of(a_.view, Side::kA, items_of(a_.view, problem_.batch)),
                       lines_b = lines_of(b_.view, Side::kB, items_of(b_.view, problem_.batch));
    look_at(a_);
    look_at(b_);
    const bool maximizes = with_semiring(operation, [](auto semiring) { return decltype(semiring)::maximizes; });
    KnownLines copied_a{lines_a, maximizes}, copied_b{lines_b, maximizes};
    KnownLines& known_a = a_.memory ? a_.memory->known_lines(lines_a, maximizes) : copied_a;
    KnownLines& known_b = b_.memory ? b_.memory->known_lines(lines_b, maximizes) : copied_b;
    device_.sample_levels(operation, {&known_a, &known_b});
    const WorthALook worth = worth_a_look(operation, range(a_), known_a.found.levels(operation.dtype), range(b_),
                                          known_b.found.levels(operation.dtype));
    const auto find = [&](Source& source, KnownLines& known) {
      device_.find_levels(operation, known, range(source).has_zero);
      source.levels = known.found.levels(operation.dtype);
    };
    if (worth.a) find(a_, known_a);
    if (worth.b) find(b_, known_b);
  }

  /// Chooses how to compute from what is known of the values. If sums might leave the type as far as the bounds tell,
  /// it looks at the values themselves.
  Plan choose() {
    look_at_lines();
    const Plan plan = planner_(range(a_), range(b_));
    const bool suffices = plan.path < RangePath::kWide || problem_.known || (a_.is_exact && b_.is_exact);
    if (suffices) return look_closer(plan);
    look_at(a_);
    look_at(b_);
    return look_closer(planner_(range(a_), range(b_)));
  }

  /// The same plan, or a better one that only the values tell.
  Plan look_closer(const Plan& plan) const {
    // Who knows the values queues many products, which are not to wait.
    if (where_.variant || problem_.known) return plan;
    const PathSet exact = exact_paths(problem_.operation, range(a_), range(b_));
    const std::optional<Plan> ranked = plan_to_look_for(problem_, plan, exact, where_);
    if (!ranked) return plan;
    return look_favours_ranked(problem_, plan, a_.view, b_.view, device_.device(), stream()) ? *ranked : plan;
  }

  void multiply() {
    const Plan plan = choose();
    result_.outcome.plan = plan;
    const bool may_overflow = plan.path == RangePath::kWide && problem_.operation.overflow == OverflowPolicy::kThrow;
    MutableMatrixView c = problem_.c;
    DeviceBuffer apart;
    const bool is_apart = (may_overflow && problem_.keeps_c) || !takes_stores(c, dtype_, problem_.batch);
    if (is_apart) {
      apart = device_.workspace(problem_.outputs() * element_bytes(dtype_));
      c = row_major(apart.get(), problem_.m(), problem_.n());
    }
    const bool finds_later = problem_.witness.data && !finds_witnesses(plan);
    if (finds_later && problem_.through.data) keep_c0();
    if (repairs_in_place()) {
      keep_c0();
      c0_.view = row_major<const void*>(kept_c0_.get(), problem_.m(), problem_.n());
    }
    const Planner chosen = [&](const ValueRange&, const ValueRange&) { return plan; };
    Launcher launcher(problem_, lane_, chosen, device_.overflow(), Launcher::Timed::kKernel);
    const Part whole{problem_.batch,   problem_.m(),    problem_.n(), 0, 0, 0, c0_.view, c,
                     problem_.witness, problem_.through};
    launch(launcher, plan, whole);
    if (may_overflow) {
      if (const auto index = launcher.overflow()) throw overflow(*index);
    }
    if (finds_later) find_all_witnesses(whole);
    result_.end = result_.launches.back().computed;
    if (!is_apart) return;
    copy_inside(dtype_, problem_.batch, read_only(c), problem_.structure.c, problem_.c, stream());
    result_.end = nullptr;
  }

  double steps_of_part(const Part& part) const {
    if (!is_structured(problem_)) return double(part.batch) * part.m * part.n * problem_.k();
    Problem of_part = problem_;
    of_part.batch = part.batch;
    of_part.a.rows = part.m;
    of_part.b.cols = part.n;
    of_part.structure = problem_.structure.from(part.first_row, part.first_col);
    return steps_of(of_part);
  }

  /// Launches a part of the product. If there is no room to pack its operands, it is divided.
  void launch(Launcher& launcher, const Plan& plan, const Part& part) {
    const double steps = cost_of_step(problem_.operation) * steps_of_part(part);
    if (steps > kMostSteps && part.batch > 1) return launch_halves(launcher, plan, part, &Part::batch, 1);
    if (steps > kMostSteps && part.m >= part.n && part.m > 2 * kGranule) {
      return launch_halves(launcher, plan, part, &Part::m, kGranule);
    }
    if (steps > kMostSteps && part.n > 2 * kGranule) return launch_halves(launcher, plan, part, &Part::n, kGranule);
    await_turn(steps);
    const Kernel& kernel = kernel_for(plan);
    Operand a = operand(a_, part, Side::kA, kernel), b = operand(b_, part, Side::kB, kernel);
    const ForHints for_hints = bytes_for_hints(kernel, part, a, b);
    const int64_t needed =
        bytes_to_pack(plan, kernel, part, a, b) + for_hints.all() + bytes_for_parts(plan, kernel, part);
    if (!device_.make_room(needed, {a_.memory, b_.memory})) {
      if (part.batch > 1) return launch_halves(launcher, plan, part, &Part::batch, 1);
      if (part.m >= part.n && part.m > kLeastSide) return launch_halves(launcher, plan, part, &Part::m, kLeastSide);
      if (part.n > kLeastSide) return launch_halves(launcher, plan, part, &Part::n, kLeastSide);
    }
    const auto compute = [&] {
      result_.launches.push_back(kernel.notes_chunks ? launch_with_hints(launcher, kernel, part, a, b, for_hints)
                                                     : launcher.launch(a, b, part, stream()));
    };
    try {
      compute();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kOutOfMemory || !device_.drop_forms()) throw;
      compute();
    }
    device_.took_turn(steps);
  }

  const Kernel& kernel_for(const Plan& plan) const {
    return cuda::kernel_for(problem_, plan, numbers_fit(range(a_), range(b_), problem_.k()), device_.device());
  }

  bool finds_witnesses(const Plan& plan) const { return &kernel_for(plan) != &kernel_of(*plan.variant); }

  /// The bytes that a kernel needs to note chunks, and the search for the witnesses after it.
  struct ForHints {
    int64_t hints, a, b;
    int64_t all() const { return hints + a + b; }
  };
  ForHints bytes_for_hints(const Kernel& kernel, const Part& part, const Operand& a, const Operand& b) const {
    if (!kernel.notes_chunks) return {};
    Launch launch{};
    launch.batch = part.batch;
    launch.m = part.m;
    launch.n = part.n;
    return {hint_bytes(kernel, launch), bytes_along_k(problem_.operation, part.batch, a.view(), Side::kA),
            bytes_along_k(problem_.operation, part.batch, b.view(), Side::kB)};
  }

  /// Nothing is launched before there is memory for all of it: a second launch in place would find nothing better.
  LaunchTimes launch_with_hints(Launcher& launcher, const Kernel& kernel, Part part, Operand& a, Operand& b,
                                const ForHints& bytes) {
    const auto take = [&](int64_t size) {
      return size > 0 ? DeviceBuffer(size, device_.device(), stream()) : DeviceBuffer();
    };
    const DeviceBuffer hints = take(bytes.hints), lines_a = take(bytes.a), lines_b = take(bytes.b);
    part.hints = static_cast<uint16_t*>(hints.get());
    const Operation& operation = problem_.operation;
    const MatrixView view_a = view_of(cleared(a_), part, Side::kA), view_b = view_of(cleared(b_), part, Side::kB);
    LaunchTimes times = launcher.launch(a, b, part, stream());
    WitnessSearch search = search_in(part);
    search.a = copy_along_k(operation, part.batch, view_a, Side::kA, lines_a.get(), stream());
    search.b = copy_along_k(operation, part.batch, view_b, Side::kB, lines_b.get(), stream());
    search.chunk_steps = int64_t{kernel.shape.tile_k} << chunk_shift_for(kernel, problem_.k());
    find_hinted(operation, search, stream());
    times.computed = &lane_.event();
    times.computed->record(stream());
    return times;
  }

  WitnessSearch search_in(const Part& part) const {
    WitnessSearch search{};
    search.batch = part.batch;
    search.m = part.m;
    search.n = part.n;
    search.k = problem_.k();
    search.c = read_only(part.c);
    search.witness = part.witness;
    search.through = part.through;
    search.band = problem_.structure.c.from(part.first_row, part.first_col);
    return search;
  }

  /// Whether repair_nan() may need elements of C0 that the product has replaced.
  bool repairs_in_place() const {
    const bool is_idempotent =
        with_semiring(problem_.operation, [](auto semiring) { return decltype(semiring)::idempotent; });
    return c0_.view.data && !is_idempotent && is_structured(problem_);
  }

  /// Copies C0, because the product's kernel doesn't tell which results it has improved, and C0 may be C.
  void keep_c0() {
    if (!c0_.view.data) return;
    kept_c0_ = device_.workspace(problem_.outputs() * element_bytes(dtype_));
    const MutableMatrixView kept = row_major(kept_c0_.get(), problem_.m(), problem_.n());
    copy_matrices(dtype_, problem_.batch, c0_.view, kept, stream());
  }

  /// Searches for the witnesses when the product has succeeded, row by row of `part` if it is large.
  void find_all_witnesses(const Part& part) {
    LaunchTimes times{};
    times.started = times.packed = &lane_.event();
    times.packed->record(stream());
    const double steps_of_row = kSearchCost * double(problem_.batch) * problem_.n() * problem_.k();
    const auto rows =
        round_up(static_cast<int64_t>(std::clamp(kMostSteps / steps_of_row, 1.0, double(problem_.m()))), kLeastSide);
    for (int64_t row = 0; row < problem_.m(); row += rows) {
      WitnessSearch search = search_in(part);
      search.m = std::min(rows, problem_.m() - row);
      search.a = view_from(cleared(a_), dtype_, 0, row, 0);
      search.b = cleared(b_);
      search.band = problem_.structure.c.from(row, 0);
      search.c = view_from(search.c, dtype_, 0, row, 0);
      if (kept_c0_.get()) {
        search.before =
            view_from(row_major<const void*>(kept_c0_.get(), problem_.m(), problem_.n()), dtype_, 0, row, 0);
      }
      search.witness = view_from(search.witness, DataType::kInt32, 0, row, 0);
      search.through = view_from(search.through, DataType::kInt32, 0, row, 0);
      const double steps = steps_of_row * double(search.m);
      await_turn(steps);
      find_all(problem_.operation, search, stream());
      device_.took_turn(steps);
    }
    times.computed = &lane_.event();
    times.computed->record(stream());
    result_.launches.push_back(times);
  }

  void witnesses_are_written() {
    ResidentMemory& memory = resident(problem_.witness.memory);
    Facts facts;
    facts.has_negative = true;
    facts.include(-1, std::max<int64_t>(problem_.k() - 1, -1));
    if (problem_.through.data) facts = resident(problem_.through.memory).facts();
    const bool is_all = stores_all() && !problem_.through.data &&
                        memory.is_covered_by(problem_.witness, DataType::kInt32, problem_.batch);
    memory.written(is_all, facts, false);
  }

  /// Waits while so much is queued that giving up would take long, which a queued kernel can't any more.
  void await_turn(double steps) {
    device_.await_turn(steps);
    if (problem_.is_cancelled()) throw given_up();
  }

  void launch_halves(Launcher& launcher, const Plan& plan, const Part& part, int64_t Part::* size, int64_t granule) {
    const int64_t first = round_up(part.*size / 2, granule);
    Part half = part;
    half.*size = first;
    launch(launcher, plan, half);
    half = part;
    half.*size = part.*size - first;
    const int64_t item = size == &Part::batch ? first : 0, row = size == &Part::m ? first : 0,
                  col = size == &Part::n ? first : 0;
    half.first_item += item;
    half.first_row += row;
    half.first_col += col;
    half.c0 = view_from(part.c0, dtype_, item, row, col);
    half.c = view_from(part.c, dtype_, item, row, col);
    half.witness = view_from(part.witness, DataType::kInt32, item, row, col);
    half.through = view_from(part.through, DataType::kInt32, item, row, 0);
    launch(launcher, plan, half);
  }

  MatrixView view_of(const MatrixView& whole, const Part& part, Side side) const {
    const bool is_a = side == Side::kA;
    MatrixView view = view_from(whole, dtype_, part.first_item, is_a ? part.first_row : 0, is_a ? 0 : part.first_col);
    (is_a ? view.rows : view.cols) = is_a ? part.m : part.n;
    return view;
  }

  Operand operand(Source& source, const Part& part, Side side, const Kernel& kernel) {
    const auto from = [&](const MatrixView& whole, PackedForms& forms) {
      return Operand(problem_.operation, view_of(whole, part, side), part.batch, range(source), forms);
    };
    if (source.is_banded() && !kernel.packs_bands) return from(cleared(source), source.cleared_forms);
    return from(source.view, source.memory ? device_.forms_of(*source.memory) : source.forms);
  }

  int64_t bytes_to_pack(const Plan& plan, const Kernel& kernel, const Part& part, const Operand& a, const Operand& b) {
    if (!kernel.pack) return 0;
    Launch launch = launch_of(problem_, plan);
    launch.batch = part.batch;
    launch.m = part.m;
    launch.n = part.n;
    set_structure(launch, problem_.structure, part.first_row, part.first_col);
    launch.a = a.view();
    launch.b = b.view();
    launch.range_a = a.range();
    launch.range_b = b.range();
    return a.bytes_to_pack(kernel, launch, Side::kA) + b.bytes_to_pack(kernel, launch, Side::kB);
  }

  int64_t bytes_for_parts(const Plan& plan, const Kernel& kernel, const Part& part) const {
    Launch launch = launch_of(problem_, plan);
    launch.batch = part.batch;
    launch.m = part.m;
    launch.n = part.n;
    set_structure(launch, problem_.structure, part.first_row, part.first_col);
    return part_bytes(kernel, division_of(kernel, launch, device_.device()));
  }

  OverflowError overflow(int64_t index) {
    const int64_t col = index % problem_.n(), row = index / problem_.n() % problem_.m();
    const int64_t item = index / problem_.n() / problem_.m();
    MatrixView a = view_from(a_.view, dtype_, item, row, 0), b = view_from(b_.view, dtype_, item, 0, col);
    a.rows = b.cols = 1;
    const SessionDevice::HostCopy host_a = device_.fetch(dtype_, 1, a), host_b = device_.fetch(dtype_, 1, b);
    Problem cell = problem_;
    cell.batch = 1;
    cell.a = host_a.view;
    cell.b = host_b.view;
    cell.structure = problem_.structure.from(row, col);
    return overflow_error(cell, problem_.batch > 1 ? item : -1, row, col);
  }

  Facts result_facts() const {
    if (problem_.known) return facts_in(problem_.operation, *problem_.known, Storage::kElement);
    Facts facts;
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
  const Planner planner_;
  Source a_, b_, c0_;
  DeviceBuffer kept_c0_;
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

QueuedProduct queue_product(const Problem& problem, const Placement& where, const SessionPlanner& planner,
                            SessionDevice& device, Lane& lane) {
  return ResidentProduct(problem, where, planner, device, lane).run();
}

Plan plan_product(const Problem& problem, const Placement& where, const SessionPlanner& planner, SessionDevice& device,
                  Lane& lane) {
  return ResidentProduct(problem, where, planner, device, lane).plan();
}

}  // namespace mpmml::cuda
