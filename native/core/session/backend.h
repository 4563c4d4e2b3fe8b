// What the core needs from a backend. The core knows backends only through this interface.
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

/// What messages call a device of each backend.
constexpr const char* kDeviceNames[] = {"device", "CUDA device"};

/// Any backend, or only one.
enum class BackendChoice : uint8_t { kAuto, kCpu, kCuda };
constexpr const char* kBackendChoiceNames[] = {"auto", "cpu", "cuda"};
constexpr BackendChoice only(BackendKind kind) { return static_cast<BackendChoice>(static_cast<int>(kind) + 1); }
static_assert(only(BackendKind::kCpu) == BackendChoice::kCpu && only(BackendKind::kCuda) == BackendChoice::kCuda);

/// Milliseconds. Transfers are 0 on the CPU.
struct Timing {
  double kernel = 0;    ///< only the kernel of the product; on the CPU with the packing
  double analysis = 0;  ///< value-range analysis, if it is a separate pass
  double h2d = 0;       ///< operands to the device
  double d2h = 0;       ///< result from the device

  /// Adds a part that came afterwards.
  void add(const Timing& part) {
    kernel += part.kernel;
    analysis += part.analysis;
    h2d += part.h2d;
    d2h += part.d2h;
  }
  /// Adds a part that ran at the same time.
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
  /// Of a closure: the first matrix of the batch and in it the first node (item · n + node) with which a cycle gains. The
  /// result is then unspecified.
  std::optional<int64_t> gain;

  /// Of the plans of parts the costliest is that of the whole.
  void take_plan(const Plan& part) {
    if (!plan.variant || part.path > plan.path) plan = part;
  }
};

/// An operand that the parts of a product read, each on a device of its own. Each part reads a piece of it from the host
/// and gets the others from its peers. What that needs is the sessions'.
class SharedOperand {
 public:
  virtual ~SharedOperand() = default;
  /// Part number `part` of the product has been started, or has failed: no other must wait for it any more.
  virtual void leave(size_t part) = 0;
  /// Whether a part can't share after all, and has failed because of that. So all parts must be computed without it.
  virtual bool is_refused() const = 0;
};

/// Where and how to compute, as far as the caller has chosen.
struct Placement {
  int device = 0;
  const Variant* variant = nullptr;   ///< null: the backend chooses
  int64_t device_memory = 0;          ///< most bytes of device memory for a product; 0: all that is free
  SharedOperand* shared_b = nullptr;  ///< null unless other devices compute the rest of the product from the same B
  size_t part = 0;                    ///< which part of the product it is then
  const void* call = nullptr;         ///< the same for all parts of a call; null: the product is a call of its own
  /// The rows and columns of the product of which other devices compute the rest; 0 if there is no rest.
  int64_t whole_m = 0, whole_n = 0;
  bool waits = false;  ///< the caller waits for the product anyway, so that a look at a sample of smaller products pays
};

/// `where`, on this device.
inline Placement on_device(int device, Placement where) {
  where.device = device;
  return where;
}

/// From when on several devices take less time than one.
struct MultiDeviceThresholds {
  /// Whether all that are asked for compute a product, though fewer may take less time.
  bool uses_all = false;
  /// To ask several devices for something takes longer than one needs for a matrix of fewer bytes (estimated).
  int64_t min_bytes = int64_t{1} << 20;
  /// For a closure. One H200 closes 2048 nodes in 3.2 ms, as two do, and four in 3.9 ms.
  int64_t min_nodes = 2049;
  /// For pivots that are eliminated ahead: the steps that a device does by way of a group of them. Four H200 close 32768 nodes
  /// in 357 ms with a session ahead, and in 383 ms without one; 16384 nodes in 75 and 77 ms; but 8192 nodes in 22 and 20 ms.
  double steps_worth_ahead = 1.5e10;
};

class Session;

class Backend {
 public:
  virtual ~Backend() = default;

  virtual BackendKind kind() const = 0;
  virtual const std::vector<const Variant*>& variants() const = 0;

  /// Why `device` can't be used now; empty if it can. Never throws.
  virtual std::string unusable(int device) = 0;

  /// How many devices there are, whether they can be used or not. Never throws.
  virtual int device_count() { return 1; }

  virtual MultiDeviceThresholds several_limits() const { return {}; }

  /// Why this product can't be computed there, whatever its values; empty if it can. Called only while the device is
  /// usable.
  virtual std::string refuses(const Problem& problem, const Placement& where) = 0;

  /// Returns the plan of a product of host matrices, which has steps. `for_runs` scans what it needs of their elements. Throws Error.
  virtual Plan plan(const Problem& problem, const Placement& where, const ForRuns& for_runs) = 0;

  /// Computes a product of host matrices on the calling thread, if the backend needs no session for that: else returns nothing.
  /// Throws Error, as Session::multiply().
  virtual std::optional<Outcome> multiply(const Problem& /*problem*/, const Placement& /*where*/) {
    return std::nullopt;
  }

  /// A rough estimate, from the sizes only, of the milliseconds that the product takes, transfers included.
  virtual double estimate_ms(const Problem& problem, int device) = 0;

  /// Whether the product is so small that a transfer of its own would take longer than it does, so that a session computes
  /// it sooner beside others. Without steps it may be too.
  virtual bool runs_together(const Problem& /*problem*/, const Placement& /*where*/) { return false; }

  /// How to scan the elements of `problem` in host memory, which may give that up.
  virtual ForRuns for_runs(const Problem& /*problem*/) { return in_one_run; }

  /// Why a product over a semiring of one's own can't be computed there; empty if it can. Called only while the device is
  /// usable. Compiles nothing.
  virtual std::string refuses_user(const UserProduct& /*product*/, const Placement& /*where*/) {
    return std::string("the ") + kBackendNames[static_cast<int>(kind())] +
           " backend doesn't compute semirings of one's own";
  }

  /// As estimate_ms().
  virtual double estimate_user_ms(const UserProduct& product, int device) = 0;

  /// Folds strands of RNA, one result for each, and lets two interact (core/rna/rna.h). Called only while the device is usable.
  /// Throws Error: kOutOfMemory before anything is computed, if the tables don't fit.
  virtual std::vector<Folding> fold(const FoldRequest& request, const Placement& where) = 0;
  virtual Interactions interact(const InteractionRequest& request, const Placement& where) = 0;

  /// Opens a usable device. Throws Error.
  virtual std::unique_ptr<Session> open(int device, int64_t device_memory) = 0;
};

}  // namespace mpmml
