// Launches: from operands on the device to results on the device.
#pragma once
#include "core/backend.h"
#include "cuda/runtime/operand.h"

namespace mpmml::cuda {

/// The events of a launch. If only the kernel is timed, `started` is `packed`.
struct LaunchTimes {
  Event *started, *packed, *computed;
};

/// A part of a product: a rectangle of C, in one or more instances.
struct Part {
  int64_t batch, m, n;
  int64_t first_item, first_row, first_col;  ///< in the whole product
  MatrixView c0;                             ///< data is null if nothing is accumulated
  MutableMatrixView c;
  /// As in Problem, if the kernel finds witnesses.
  MutableMatrixView witness{};
  MatrixView through{};
  /// Whether other parts may be computed at the same time, on what this one leaves of the device.
  bool overlaps = false;
};

/// The rows, columns and instances of `part` from these on: so many.
Part cut(const Part& part, DataType dtype, int64_t item, int64_t row, int64_t col, int64_t batch, int64_t m, int64_t n);

/// The launch of a part. It has no operands yet.
Launch launch_of(const Problem& problem, const Plan& plan, const Part& part);

/// The kernel that a product's launches take: one that finds witnesses, if they are asked for and there is one. `numbered`
/// says whether numbers_fit().
const Kernel& kernel_for(const Problem& problem, const Plan& plan, bool numbered, int device);

/// Launches the parts of one product.
class Launcher {
 public:
  /// What is timed besides the kernel.
  enum class Timed : bool { kKernel, kPreparation };

  /// `overflow` points to device memory for the smallest index of a result that overflowed. The planner must outlive
  /// this.
  Launcher(const Problem& problem, Lane& lane, const Planner& planner, unsigned long long* overflow,
           Timed timed = Timed::kPreparation)
      : problem_(problem), lane_(lane), planner_(planner), overflow_(overflow), timed_(timed) {}

  /// Plans, packs and computes `part` from operands whose ranges are known, on `stream`. What it needs is taken of `room`:
  /// bytes_beside() and the operands' bytes_beside(). If that is null, memory is allocated.
  /// Throws Error(kValue) if the ranges show values that aren't elements of the semiring.
  LaunchTimes launch(Operand& a, Operand& b, const Part& part, cudaStream_t stream, Room* room = nullptr);

  /// Whether a launch has sums that may overflow. No result may be downloaded before it is certain that none did.
  bool watches_overflow() const { return watches_overflow_; }

  /// The costliest plan that any part took.
  const Plan& plan() const { return plan_; }

  /// Call it after all launches. Waits for them, and returns the smallest linear index of a result that overflowed
  /// under the throwing policy.
  std::optional<int64_t> overflow();

 private:
  void watch_overflow(cudaStream_t stream);

  const Problem& problem_;
  Lane& lane_;
  const Planner& planner_;
  unsigned long long* const overflow_;
  const Timed timed_;
  bool watches_overflow_ = false;
  Plan plan_{};
};

}  // namespace mpmml::cuda
