// A product on a device, region by region: how each region is computed and what that takes, its launch, its witnesses, and
// whether a result has overflowed. Operands and results may stay on the device (session_product.h), or stream in from the host
// and out to it (product.h): here that makes no difference.
#pragma once
#include <optional>

#include "core/problem/overflow.h"
#include "core/problem/region.h"
#include "core/session/backend.h"
#include "cuda/runtime/operand.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

/// The events of a launch. If only the kernel is timed, `started` is `packed`.
struct LaunchTimes {
  Event *started, *packed, *computed;
};

/// How a region of a product is computed. What estimates, reserves and launches goes by it; it allocates nothing.
struct RegionPlan {
  const Variant* variant;
  const Kernel* kernel;      ///< the variant's, or one that finds witnesses too
  Launch launch;             ///< without what is packed
  StreamKSchedule division;  ///< without shares if whole tiles take less time
  /// Of device memory, beside what operands keep: for operands, for the kernel itself, for parts of tiles, and for the lines
  /// in which witnesses are looked for.
  int64_t room_bytes;
};

/// The kernel that a product's launches take: one that finds witnesses, if they are asked for and there is one. `numbered`
/// says whether numbers_fit().
const Kernel& kernel_for(const Problem& problem, const Plan& plan, bool numbered, int device);

/// `part` is the product that a region of `whole` is, with C0 and the results on the device. `overlaps`: whether regions may be
/// computed at the same time, each on what the others leave of the device.
RegionPlan plan_region(const Problem& whole, const Plan& plan, const Kernel& kernel, const Region& region,
                       const Problem& part, const Operand& a, const Operand& b, int device, bool overlaps);

class Executor {
 public:
  /// What is timed besides the kernel.
  enum class Timed : bool { kKernel, kPreparation };

  /// `overlaps` as plan_region() has it.
  Executor(const Problem& problem, const Placement& where, SessionDevice& device, Lane& lane, Timed timed,
           bool overlaps = false)
      : problem_(problem), where_(where), device_(device), lane_(lane), timed_(timed), overlaps_(overlaps) {}

  /// `plan`, or a better one that only the values of these operands tell, of which the ranges are known. Computes a sample of
  /// their product if there may be one, once for all regions.
  Plan improve(const Plan& plan, const ValueRange& range_a, const MatrixView& a, const ValueRange& range_b,
               const MatrixView& b);

  const Kernel& kernel_for(const Plan& plan, const ValueRange& a, const ValueRange& b) const {
    return cuda::kernel_for(problem_, plan, numbers_fit(a, b, problem_.k()), lane_.device());
  }
  RegionPlan plan(const Plan& plan, const Kernel& kernel, const Region& region, const Problem& part, const Operand& a,
                  const Operand& b) const {
    return plan_region(problem_, plan, kernel, region, part, a, b, lane_.device(), overlaps_);
  }

  /// Packs and computes a region as planned, from operands whose ranges are known, on `stream`, and finds the witnesses that its
  /// kernel has told of. What it needs is taken of `room`; if that is null, memory is allocated.
  LaunchTimes launch(RegionPlan& plan, Operand& a, Operand& b, cudaStream_t stream, ScratchArena* room = nullptr);

  /// Whether the kernel for a plan doesn't tell all further results that are asked for: then find_further() is called too.
  bool leaves_further(const Variant& variant, const Kernel& kernel) const {
    return problem_.witness.data && &kernel == &kernel_of(variant);
  }
  /// Finds the further results of a region that has been computed, some rows at a time if it is large. `before` is a copy of C0 of the
  /// whole product, if `through` is given.
  LaunchTimes find_further(const RegionPlan& plan, const Operand& a, const Operand& b, const MatrixView& before,
                           cudaStream_t stream);

  /// Whether a launch has sums that may overflow. No result may be given away before it is certain that none did.
  bool watches_overflow() const { return watches_overflow_; }
  /// Call it after all launches. Waits for them if sums may overflow, and throws OverflowError for the first result that did.
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
