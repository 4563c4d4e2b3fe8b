// The parts of one product, which several devices compute at the same time.
#pragma once
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/backend.h"
#include "core/parts.h"
#include "core/status.h"

namespace mpmml {

/// An error of a device of several, which says which.
Error of_device(BackendKind backend, int device, const Error& error);

class Together {
 public:
  struct Task {
    Region region;
    int device;
  };

  /// `problem` has a place for the results, and must stay, as `backend` must. `shares`: whether the parts may give each
  /// other operands.
  Together(const Problem& problem, std::vector<Task> tasks, Backend& backend, bool shares);

  /// Computes the parts, each on a thread of its own. What becomes of them is for the functions below. Throws Error if
  /// the system refuses a thread, or if the product is given up.
  void compute(const Placement& where);

  /// Whether the devices can't give each other operands after all. Then there are no results.
  bool is_sharing_refused() const { return shared_ && shared_->is_refused(); }

  /// What the whole product has come to: the first overflow, if there is one. Throws what failed first, because that may
  /// be why other parts did.
  Outcome outcome() const;

  /// What each part took, in ms.
  std::vector<double> kernel_times() const;

 private:
  void compute_part(size_t index, const Placement& where);
  /// Returns whether the part has results.
  bool run_part(size_t index, const Placement& where);
  void keep_failure(size_t index);
  Outcome joined() const;

  const Problem& whole_;
  const std::vector<Task> tasks_;
  Backend& backend_;
  std::atomic<int32_t> stopped_{0};
  std::vector<Problem> problems_;
  std::unique_ptr<SharedOperand> shared_;
  Agreement agreement_;
  std::vector<Outcome> outcomes_;
  std::mutex mutex_;
  std::vector<std::exception_ptr> failures_;  ///< in the order of time; guarded by mutex_
  std::vector<size_t> failed_;                ///< the parts that they are of
};

}  // namespace mpmml
