// Executes a product on a device, region by region: plan and workspace of each region, launch, witnesses and overflow
// check. It is independent of where operands and results are: resident on the device (session_product.h), or streamed
// from and to the host (product.h).
#pragma once
#include <optional>

#include "core/problem/overflow.h"
#include "core/problem/region.h"
#include "core/session/backend.h"
#include "cuda/runtime/operand.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

/// Events of a launch. `started` equals `packed` if only the kernel is timed.
struct LaunchTimes {
  Event *started, *packed, *computed;
};

/// Plan of a region of a product. Estimates, reservations and launches use it. Making a plan allocates no device
/// memory.
struct RegionPlan {
  const Variant* variant;
  const Kernel* kernel;      ///< the variant's kernel, or its counterpart that finds witnesses
  Launch launch;             ///< without packed operands
  StreamKSchedule division;  ///< stream-K schedule; no shares if whole tiles are faster
  /// Bytes of device memory apart from cached packings: for operands, kernel scratch, partial tiles, and the copies of
  /// operands for the witness search.
  int64_t room_bytes;
};

/// Returns the kernel for the launches of a product: one that finds witnesses, if they are requested and such a kernel
/// exists. `numbered` is the result of numbers_fit().
const Kernel& kernel_for(const Problem& problem, const Plan& plan, bool numbered, int device);

/// Plans a region of `whole`. `part` is the region as a product, with C0 and the results on the device. `overlaps`
/// states whether regions may run concurrently and share the device.
RegionPlan plan_region(const Problem& whole, const Plan& plan, const Kernel& kernel, const Region& region,
                       const Problem& part, const Operand& a, const Operand& b, int device, bool overlaps);

class Executor {
 public:
  /// Work that is timed: only the kernel, or the preparation, too.
  enum class Timed : bool { kKernel, kPreparation };

  /// `overlaps` is the parameter of plan_region().
  Executor(const Problem& problem, const Placement& where, SessionDevice& device, Lane& lane, Timed timed,
           bool overlaps = false)
      : problem_(problem), where_(where), device_(device), lane_(lane), timed_(timed), overlaps_(overlaps) {}

  /// Returns `plan`, or a better plan that depends on the values of the operands, not only on their ranges. Computes a
  /// sample of the product if the ranked family may be faster, once for all regions.
  Plan improve(const Plan& plan, const ValueRange& range_a, const MatrixView& a, const ValueRange& range_b,
               const MatrixView& b);

  const Kernel& kernel_for(const Plan& plan, const ValueRange& a, const ValueRange& b) const {
    return cuda::kernel_for(problem_, plan, numbers_fit(a, b, problem_.k()), lane_.device());
  }
  RegionPlan plan(const Plan& plan, const Kernel& kernel, const Region& region, const Problem& part, const Operand& a,
                  const Operand& b) const {
    return plan_region(problem_, plan, kernel, region, part, a, b, lane_.device(), overlaps_);
  }

  /// Queues packing and computation of a region on `stream`, and the search for the witnesses of which its kernel
  /// stores hints. The ranges of the operands must be known. Workspace is taken from `room`, or allocated if `room` is
  /// null.
  LaunchTimes launch(RegionPlan& plan, Operand& a, Operand& b, cudaStream_t stream, ScratchArena* room = nullptr);

  /// Returns whether the kernel doesn't compute all requested auxiliary outputs, so that find_auxiliary() must be
  /// called.
  bool leaves_auxiliary(const Variant& variant, const Kernel& kernel) const {
    return problem_.witness.data && &kernel == &kernel_of(variant);
  }
  /// Queues the computation of the auxiliary outputs of a computed region, a few rows at a time if it is large.
  /// `before` is a copy of C0 of the whole product, if `through` is given.
  LaunchTimes find_auxiliary(const RegionPlan& plan, const Operand& a, const Operand& b, const MatrixView& before,
                             cudaStream_t stream);

  /// Returns whether sums of a launch may overflow. Results must not be published before require_no_overflow() has
  /// returned.
  bool watches_overflow() const { return watches_overflow_; }
  /// Waits for the launches if sums may overflow, and throws OverflowError for the first result that did. Must be
  /// called after all launches.
  void require_no_overflow();

 private:
  void watch_overflow(cudaStream_t stream);
  void find_noted_witnesses(const RegionPlan& plan, const Operand& a, const Operand& b, ScratchArena& room);
  OverflowError overflow(int64_t index);

  const Problem& problem_;
  const Placement& where_;
  SessionDevice& device_;
  Lane& lane_;
  const Timed timed_;
  const bool overlaps_;
  bool watches_overflow_ = false;
  std::optional<bool> favours_ranked_;
};

}  // namespace mpmml::cuda
