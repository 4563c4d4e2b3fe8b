#include "cuda/runtime/launcher.h"

#include "core/problem/destination.h"
#include "core/status.h"
#include "cuda/device/error.h"
#include "cuda/launch/function.h"
#include "cuda/runtime/banded.h"
#include "cuda/runtime/divided.h"
#include "cuda/runtime/trace.h"

namespace mpmml::cuda {
namespace {

constexpr unsigned long long kNoOverflow = ~0ull;

}  // namespace

const Kernel& kernel_for(const Problem& problem, const Plan& plan, bool numbered, int device) {
  const Kernel& kernel = kernel_of(*plan.variant);
  const Kernel* const finder = problem.witness.data ? witness_kernel(kernel, plan.path, numbered, device) : nullptr;
  return finder ? *finder : kernel;
}

Launch launch_of(const Problem& whole, const Plan& plan, const Region& region, const Problem& part) {
  Launch launch = launch_of(part, plan);
  launch.whole_m = whole.m();
  launch.whole_n = whole.n();
  launch.first_item = region.items.first;
  launch.first_row = region.rows.first;
  launch.first_col = region.cols.first;
  launch.c0 = part.c0;
  launch.c = part.c;
  launch.witness = part.witness;
  launch.through = part.through;
  return launch;
}

Launch launch_to_be(const Problem& whole, const Plan& plan, const Kernel& kernel, const Region& region,
                    const Problem& part, const Operand& a, const Operand& b, cudaStream_t stream) {
  Launch launch = launch_of(whole, plan, region, part);
  launch.a = a.view_to_be(kernel);
  launch.b = b.view_to_be(kernel);
  launch.range_a = a.range();
  launch.range_b = b.range();
  launch.stream = stream;
  return launch;
}

LaunchTimes Launcher::launch(const Plan& plan, Operand& a, Operand& b, const Region& region, const Problem& part,
                             cudaStream_t stream, Room* room) {
  const Kernel& kernel = kernel_for(problem_, plan, numbers_fit(a.range(), b.range(), problem_.k()), lane_.device());
  // An event costs a small product a microsecond.
  Event* const started = &lane_.event();
  LaunchTimes times{started, started, &lane_.event()};
  if (timed_ == Timed::kPreparation) started->record(stream);

  Launch launch = launch_of(problem_, plan, region, part);
  const TraceRange range(*plan.variant, launch);
  launch.a = a.view_for(kernel, lane_, stream, room);
  launch.b = b.view_for(kernel, lane_, stream, room);
  launch.chunk_shift = chunk_shift_for(kernel, launch.k);
  launch.range_a = a.range();
  launch.range_b = b.range();
  launch.stream = stream;
  if (may_overflow(problem_, plan.path)) {
    watch_overflow(stream);
    launch.overflow = overflow_;
  }
  launch.packed_a = a.packed_for(kernel, launch, Side::kA, lane_, room);
  launch.packed_b = b.packed_for(kernel, launch, Side::kB, lane_, room);
  const Division division = overlaps_ ? Division{} : division_of(kernel, launch, lane_.device());
  Room own;
  if (!room) own = Room(bytes_beside(kernel, launch, division), lane_.device(), stream);
  const Parts parts(kernel, launch, division, room ? *room : own);
  if (timed_ == Timed::kPreparation) times.packed = &lane_.event();
  times.packed->record(stream);
  parts.launch(kernel, launch);
  if (launch.is_structured) repair_nan(problem_.operation, launch);
  times.computed->record(stream);
  return times;
}

void Launcher::watch_overflow(cudaStream_t stream) {
  if (watches_overflow_) return;
  watches_overflow_ = true;
  MPMML_CUDA(cudaMemsetAsync(overflow_, 0xff, sizeof(kNoOverflow), stream));
  // Parts on other streams report their overflows there too, so they wait for it.
  Event& ready = lane_.event();
  ready.record(stream);
  for (int index = 0; index < Lane::kComputeStreams; ++index) ready.hold(lane_.compute(index));
}

std::optional<int64_t> Launcher::overflow() {
  if (!watches_overflow_) return std::nullopt;
  lane_.quiesce();
  unsigned long long index = kNoOverflow;
  MPMML_CUDA(cudaMemcpy(&index, overflow_, sizeof(index), cudaMemcpyDeviceToHost));
  if (index == kNoOverflow) return std::nullopt;
  return static_cast<int64_t>(index);
}

}  // namespace mpmml::cuda
