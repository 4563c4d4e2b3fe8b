#include "cuda/runtime/executor.h"

#include <algorithm>

#include "core/problem/destination.h"
#include "cuda/device/error.h"
#include "cuda/launch/function.h"
#include "cuda/runtime/band_copy.h"
#include "cuda/runtime/ranked_choice.h"
#include "cuda/runtime/stream_k.h"
#include "cuda/runtime/trace.h"
#include "cuda/runtime/witness.h"

namespace mpmml::cuda {
namespace {

constexpr unsigned long long kNoOverflow = ~0ull;

/// Cost of a step of the witness search through all of K, relative to a step of a product (estimated).
constexpr double kSearchCost = 8;
/// Granularity of the search in rows of C: whole tiles.
constexpr int64_t kSearchedRows = 128;

/// Returns the bytes for a copy of an operand along K, if the witness search needs one.
int64_t bytes_of_lines(const Problem& problem, const Kernel& kernel, int64_t items, const Operand& operand, Side side) {
  return kernel.notes_chunks ? bytes_along_k(problem.operation, items, operand.searched(), side) : 0;
}

/// Returns the arguments of the witness search of a launch.
WitnessSearch search_of(const Launch& launch) {
  WitnessSearch search{};
  search.batch = launch.batch;
  search.m = launch.m;
  search.n = launch.n;
  search.k = launch.k;
  search.a = launch.a;
  search.b = launch.b;
  search.c = read_only(launch.c);
  search.witness = launch.witness;
  search.through = launch.through;
  search.band = launch.structure.c;
  return search;
}

}  // namespace

const Kernel& kernel_for(const Problem& problem, const Plan& plan, bool numbered, int device) {
  const Kernel& kernel = kernel_of(*plan.variant);
  const Kernel* const finder = problem.witness.data ? witness_kernel(kernel, plan.path, numbered, device) : nullptr;
  return finder ? *finder : kernel;
}

RegionPlan plan_region(const Problem& whole, const Plan& plan, const Kernel& kernel, const Region& region,
                       const Problem& part, const Operand& a, const Operand& b, int device, bool overlaps) {
  RegionPlan planned{plan.variant, &kernel, launch_of(part, plan), {}, 0};
  Launch& launch = planned.launch;
  launch.whole_m = whole.m();
  launch.whole_n = whole.n();
  launch.first_item = region.items.first;
  launch.first_row = region.rows.first;
  launch.first_col = region.cols.first;
  launch.a = a.view_to_be(kernel);
  launch.b = b.view_to_be(kernel);
  launch.c0 = part.c0;
  launch.c = part.c;
  launch.witness = part.witness;
  launch.through = part.through;
  launch.range_a = a.range();
  launch.range_b = b.range();
  launch.chunk_shift = chunk_shift_for(kernel, launch.k);
  if (!overlaps) planned.division = division_of(kernel, launch, device);
  planned.room_bytes = extra_workspace_bytes(kernel, launch, planned.division);
  for (const Side side : {Side::kA, Side::kB}) {
    const Operand& operand = side == Side::kA ? a : b;
    planned.room_bytes += operand.extra_workspace_bytes(kernel, launch, side) +
                          ScratchArena::piece(bytes_of_lines(whole, kernel, launch.batch, operand, side));
  }
  return planned;
}

Plan Executor::improve(const Plan& plan, const ValueRange& range_a, const MatrixView& a, const ValueRange& range_b,
                       const MatrixView& b) {
  // A caller that knows the bounds of values usually queues many products, which must not wait for a sample unless the
  // caller waits for each.
  if (where_.variant || (problem_.known && !where_.waits)) return plan;
  const ArithmeticSet exact = exact_arithmetics(problem_.operation, range_a, range_b);
  const std::optional<Plan> ranked = ranked_plan(problem_, plan, exact, where_);
  if (!ranked) return plan;
  if (!favours_ranked_) {
    favours_ranked_ = sample_favours_ranked(problem_, plan, a, b, lane_.device(), lane_.compute(0));
  }
  return *favours_ranked_ ? *ranked : plan;
}

LaunchTimes Executor::launch(RegionPlan& plan, Operand& a, Operand& b, cudaStream_t stream, ScratchArena* room) {
  const Kernel& kernel = *plan.kernel;
  Launch& launch = plan.launch;
  // An event costs a microsecond, which matters for small products.
  Event* const started = &lane_.event();
  LaunchTimes times{started, started, &lane_.event()};
  if (timed_ == Timed::kPreparation) started->record(stream);
  const TraceRange range(*plan.variant, launch);
  ScratchArena own;
  if (!room) {
    own = ScratchArena(plan.room_bytes, lane_.device(), stream);
    room = &own;
  }
  launch.stream = stream;
  launch.a = a.view_for(kernel, lane_, stream, *room);
  launch.b = b.view_for(kernel, lane_, stream, *room);
  if (may_overflow(problem_, launch.path)) {
    watch_overflow(stream);
    launch.overflow = device_.overflow();
  }
  launch.packed_a = a.packed_for(kernel, launch, Side::kA, lane_, *room);
  launch.packed_b = b.packed_for(kernel, launch, Side::kB, lane_, *room);
  const StreamKLaunch parts(kernel, launch, plan.division, *room);
  if (timed_ == Timed::kPreparation) times.packed = &lane_.event();
  times.packed->record(stream);
  parts.launch(kernel, launch);
  if (launch.is_structured) repair_nan(problem_.operation, launch);
  if (kernel.notes_chunks) find_noted_witnesses(plan, a, b, *room);
  times.computed->record(stream);
  return times;
}

void Executor::find_noted_witnesses(const RegionPlan& plan, const Operand& a, const Operand& b, ScratchArena& room) {
  const Kernel& kernel = *plan.kernel;
  const Launch& launch = plan.launch;
  const auto lines_of = [&](const Operand& operand, Side side) {
    void* const lines = room.take(bytes_of_lines(problem_, kernel, launch.batch, operand, side));
    return copy_along_k(problem_.operation, launch.batch, operand.searched(), side, lines, launch.stream);
  };
  WitnessSearch search = search_of(launch);
  search.a = lines_of(a, Side::kA);
  search.b = lines_of(b, Side::kB);
  search.chunk_steps = int64_t{kernel.shape.tile_k} << launch.chunk_shift;
  find_hinted(problem_.operation, search, launch.stream);
}

LaunchTimes Executor::find_auxiliary(const RegionPlan& plan, const Operand& a, const Operand& b,
                                     const MatrixView& before, cudaStream_t stream) {
  LaunchTimes times{};
  times.started = times.packed = &lane_.event();
  times.packed->record(stream);
  Launch all = plan.launch;
  all.a = a.searched();
  all.b = b.searched();
  const double steps_of_row = kSearchCost * double(all.batch) * double(all.n) * double(all.k);
  const auto rows = static_cast<int64_t>(std::clamp(SessionDevice::kMaxSteps / steps_of_row, 1.0, double(all.m)));
  for (Span part{0, 0}; part.end < all.m;) {
    part = {part.end, std::min(part.end + round_up(rows, kSearchedRows), all.m)};
    const Launch launch = part_of(all, {{0, all.batch}, part, {0, all.n}});
    WitnessSearch search = search_of(launch);
    search.before = view_from(before, problem_.operation.dtype, launch.first_item, launch.first_row, launch.first_col);
    device_.queue_in_turn(
        steps_of_row * double(launch.m), stream, [&] { return problem_.is_cancelled(); },
        [&] { find_all(problem_.operation, search, stream); });
  }
  times.computed = &lane_.event();
  times.computed->record(stream);
  return times;
}

void Executor::watch_overflow(cudaStream_t stream) {
  if (watches_overflow_) return;
  watches_overflow_ = true;
  MPMML_CUDA(cudaMemsetAsync(device_.overflow(), 0xff, sizeof(kNoOverflow), stream));
  // Other streams write to the overflow slot, too, so they wait for its reset.
  Event& ready = lane_.event();
  ready.record(stream);
  for (int index = 0; index < Lane::kComputeStreams; ++index) ready.hold(lane_.compute(index));
}

void Executor::require_no_overflow() {
  if (!watches_overflow_) return;
  lane_.quiesce();
  unsigned long long index = kNoOverflow;
  MPMML_CUDA(cudaMemcpy(&index, device_.overflow(), sizeof(index), cudaMemcpyDeviceToHost));
  if (index != kNoOverflow) throw overflow(static_cast<int64_t>(index));
}

OverflowError Executor::overflow(int64_t index) {
  Problem cell = sub(problem_, result_at(problem_, index));
  SessionDevice::HostCopy copies[2];
  for (const auto& [view, copy] : {std::pair(&cell.a, &copies[0]), std::pair(&cell.b, &copies[1])}) {
    if (!view->memory) continue;
    *copy = device_.fetch(problem_.operation.dtype, 1, *view);
    *view = copy->view;
  }
  return overflow_error(problem_, index, cell);
}

}  // namespace mpmml::cuda
