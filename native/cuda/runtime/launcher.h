// Launches: from operands on the device to results on the device.
#pragma once
#include "core/problem/region.h"
#include "core/session/backend.h"
#include "cuda/runtime/operand.h"

namespace mpmml::cuda {

/// The events of a launch. If only the kernel is timed, `started` is `packed`.
struct LaunchTimes {
  Event *started, *packed, *computed;
};

/// The launch of a region of `whole`: `part` is the product that it is, with C0 and the results on the device. It has no
/// operands yet.
Launch launch_of(const Problem& whole, const Plan& plan, const Region& region, const Problem& part);

/// The kernel that a product's launches take: one that finds witnesses, if they are asked for and there is one. `numbered`
/// says whether numbers_fit().
const Kernel& kernel_for(const Problem& problem, const Plan& plan, bool numbered, int device);

/// Enough of the launch of a region to say what it needs, and to pack operands whose forms are kept. Besides launch_of()
/// that is what is known of the operands.
Launch launch_to_be(const Problem& whole, const Plan& plan, const Kernel& kernel, const Region& region,
                    const Problem& part, const Operand& a, const Operand& b, cudaStream_t stream);

/// Launches the parts of one product.
class Launcher {
 public:
  /// What is timed besides the kernel.
  enum class Timed : bool { kKernel, kPreparation };

  /// `overflow` points to device memory for the smallest index of a result that overflowed.
  /// `overlaps`: whether parts may be computed at the same time, each on what the others leave of the device.
  Launcher(const Problem& problem, Lane& lane, unsigned long long* overflow, Timed timed = Timed::kPreparation,
           bool overlaps = false)
      : problem_(problem), lane_(lane), overflow_(overflow), timed_(timed), overlaps_(overlaps) {}

  /// Packs and computes a region as planned, from operands whose ranges are known, on `stream`: `part` is as launch_of() has it.
  /// What it needs is taken of `room`: bytes_beside() and the operands' bytes_beside(). If that is null, memory is allocated.
  LaunchTimes launch(const Plan& plan, Operand& a, Operand& b, const Region& region, const Problem& part,
                     cudaStream_t stream, Room* room = nullptr);

  /// Whether a launch has sums that may overflow. No result may be downloaded before it is certain that none did.
  bool watches_overflow() const { return watches_overflow_; }

  /// Call it after all launches. Waits for them, and returns the smallest linear index of a result that overflowed
  /// under the throwing policy.
  std::optional<int64_t> overflow();

 private:
  void watch_overflow(cudaStream_t stream);

  const Problem& problem_;
  Lane& lane_;
  unsigned long long* const overflow_;
  const Timed timed_;
  const bool overlaps_;
  bool watches_overflow_ = false;
};

}  // namespace mpmml::cuda
