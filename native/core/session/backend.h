// Interface of a backend, through which alone the core uses backends.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/algebra/range.h"
#include "core/plan/plan.h"
#include "core/plan/variant.h"
#include "core/problem/problem.h"
#include "core/problem/scan.h"
#include "core/rna/rna.h"
#include "core/user/product.h"

namespace mpmml {

/// Name of a device of each backend in messages.
constexpr const char* kDeviceNames[] = {"device", "CUDA device"};

/// Choice of a backend: any, or a specific one.
enum class BackendChoice : uint8_t { kAuto, kCpu, kCuda };
constexpr const char* kBackendChoiceNames[] = {"auto", "cpu", "cuda"};
constexpr BackendChoice only(BackendKind kind) { return static_cast<BackendChoice>(static_cast<int>(kind) + 1); }
static_assert(only(BackendKind::kCpu) == BackendChoice::kCpu && only(BackendKind::kCuda) == BackendChoice::kCuda);

/// Durations in milliseconds. Transfers are 0 on the CPU.
struct Timing {
  double kernel = 0;    ///< kernel of the product only; on the CPU including packing
  double analysis = 0;  ///< value-range analysis, if it is a separate pass
  double h2d = 0;       ///< operands to the device
  double d2h = 0;       ///< result from the device

  /// Adds the durations of a subsequent part.
  void add(const Timing& part) {
    kernel += part.kernel;
    analysis += part.analysis;
    h2d += part.h2d;
    d2h += part.d2h;
  }
  /// Merges the durations of a part that ran concurrently.
  void overlap(const Timing& part) {
    kernel = std::max(kernel, part.kernel);
    analysis = std::max(analysis, part.analysis);
    h2d = std::max(h2d, part.h2d);
    d2h = std::max(d2h, part.d2h);
  }
};

struct Outcome {
  Plan plan{};
  Timing timing;
  /// For closures: index (item · n + node) of the first node with an improving cycle, in the first such matrix of the
  /// batch. The result is then unspecified.
  std::optional<int64_t> gain;

  /// Takes the plan of a part if its arithmetic is costlier than the current one.
  void take_plan(const Plan& part) {
    if (!plan.variant || part.path > plan.path) plan = part;
  }
};

/// An operand that all parts of a product read, each part on its own device. Each part reads one piece of the operand
/// from the host and receives the other pieces from its peers. Sessions implement the transfers.
class SharedOperand {
 public:
  virtual ~SharedOperand() = default;
  /// Notifies that part number `part` of the product has been started or has failed, so that no other part waits for
  /// it.
  virtual void leave(size_t part) = 0;
  /// Returns whether a part has failed because it can't share the operand. Then all parts must be computed without
  /// sharing.
  virtual bool is_refused() const = 0;
};

/// Device and options that the caller has chosen for a computation.
struct Placement {
  int device = 0;
  const Variant* variant = nullptr;   ///< null: the backend chooses
  int64_t device_memory = 0;          ///< limit of device memory for a product in bytes; 0: all free memory
  SharedOperand* shared_b = nullptr;  ///< null unless other devices compute the rest of the product from the same B
  size_t part = 0;                    ///< index of the part of the product, if `shared_b` is set
  const void* call = nullptr;  ///< identifies the call that the part belongs to; null: the product is a call of its own
  /// Rows and columns of the whole product, if other devices compute the other parts; else 0.
  int64_t whole_m = 0, whole_n = 0;
  bool waits =
      false;  ///< the caller waits for the product anyway, so that scanning a sample pays even for smaller products
};

/// Returns `where`, placed on this device.
inline Placement on_device(int device, Placement where) {
  where.device = device;
  return where;
}

/// Thresholds above which multiple devices take less time than one.
struct MultiDeviceThresholds {
  /// True if all requested devices compute a product even if fewer would take less time.
  bool uses_all = false;
  /// Minimum size of a matrix in bytes. Below it the overhead of multiple devices exceeds the time of one device
  /// (estimated).
  int64_t min_bytes = int64_t{1} << 20;
  /// Minimum number of nodes of a closure. One H200 closes 2048 nodes in 3.2 ms, two H200 in 3.2 ms, and four in 3.9
  /// ms.
  int64_t min_nodes = 2049;
  /// Minimum number of steps of a device for one group of pivots at which the next group is eliminated ahead. Four H200
  /// close 32768 nodes in 357 ms with a session ahead, and in 383 ms without one; 16384 nodes in 75 and 77 ms; but 8192
  /// nodes in 22 and 20 ms.
  double steps_worth_ahead = 1.5e10;
};

class Session;

class Backend {
 public:
  virtual ~Backend() = default;

  virtual BackendKind kind() const = 0;
  virtual const std::vector<const Variant*>& variants() const = 0;

  /// Returns the reason why `device` can't be used now; empty if it can be used. Never throws.
  virtual std::string unusable(int device) = 0;

  /// Returns the number of devices, usable or not. Never throws.
  virtual int device_count() { return 1; }

  virtual MultiDeviceThresholds multi_device_limits() const { return {}; }

  /// Returns the reason why this product can't be computed on the device, regardless of its values; empty if it can.
  /// Called only while the device is usable.
  virtual std::string refuses(const Problem& problem, const Placement& where) = 0;

  /// Returns the plan of a product of host matrices with at least one step. `for_runs` scans elements where the plan
  /// needs it. Throws Error.
  virtual Plan plan(const Problem& problem, const Placement& where, const ForRuns& for_runs) = 0;

  /// Computes a product of host matrices on the calling thread if the backend needs no session for it; otherwise
  /// returns nothing. Throws Error like Session::multiply().
  virtual std::optional<Outcome> multiply(const Problem& /*problem*/, const Placement& /*where*/) {
    return std::nullopt;
  }

  /// Returns a rough estimate of the duration of a product in ms, transfers included, from its sizes only.
  virtual double estimate_ms(const Problem& problem, int device) = 0;

  /// Returns whether a separate transfer would take longer than the product itself. A session computes such products
  /// sooner in a batch. May return true for products without steps.
  virtual bool runs_together(const Problem& /*problem*/, const Placement& /*where*/) { return false; }

  /// Returns the function that scans the elements of `problem` in host memory. The problem's flags cancel the scan.
  virtual ForRuns for_runs(const Problem& /*problem*/) { return in_one_run; }

  /// Returns the reason why a product over a custom semiring can't be computed on the device; empty if it can. Called
  /// only while the device is usable. Compiles nothing.
  virtual std::string refuses_user(const UserProduct& /*product*/, const Placement& /*where*/) {
    return std::string("the ") + kBackendNames[static_cast<int>(kind())] +
           " backend doesn't compute semirings of one's own";
  }

  /// Returns a rough estimate of the duration of a product over a custom semiring in ms, like estimate_ms().
  virtual double estimate_user_ms(const UserProduct& product, int device) = 0;

  /// Folds strands of RNA, with one result for each (core/rna/rna.h). Called only while the device is usable. Throws
  /// Error; kOutOfMemory is thrown before any computation if the tables don't fit.
  virtual std::vector<Folding> fold(const FoldRequest& request, const Placement& where) = 0;
  virtual Interactions interact(const InteractionRequest& request, const Placement& where) = 0;

  /// Opens a usable device. Throws Error.
  virtual std::unique_ptr<Session> open(int device, int64_t device_memory) = 0;
};

}  // namespace mpmml
