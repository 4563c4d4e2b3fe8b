// One product from request to result: chooses the backend, handles the products that need no kernel, reports overflow.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/devices/partition.h"
#include "core/session/backend.h"
#include "core/session/session.h"
#include "core/session/session_pool.h"
#include "core/status.h"

namespace mpmml {

/// Set of devices: bit i is for device i.
using DeviceSet = uint64_t;
/// Maximum number of devices in a set, limited by the bits of JavaScript's exact integers.
constexpr int kMaxDevices = 52;
/// All devices.
constexpr DeviceSet kAllDevices = (DeviceSet{1} << kMaxDevices) - 1;

inline DeviceSet set_of(const std::vector<int>& devices) {
  DeviceSet set = 0;
  for (const int device : devices) set |= DeviceSet{1} << device;
  return set;
}

struct Request {
  BackendChoice backend = BackendChoice::kAuto;
  Placement where;
  /// GPUs that may compute the product together, in place of `where.device`; 0: only `where.device`.
  DeviceSet devices = 0;
};

/// Backend that `auto` chooses, and the reason, as a clause that can follow "because".
struct Explanation {
  BackendKind backend;
  std::string reason;
};

struct Result {
  BackendKind backend;
  Outcome outcome;
  int device = 0;         ///< for GPUs: the first of the GPUs that computed it
  DeviceSet devices = 0;  ///< the GPUs that computed it together; 0 for a single one
};

/// Result of an RNA recurrence, and the device that computed it.
template <class Answer>
struct Computed {
  Answer answer;
  BackendKind backend;
  int device;  ///< for GPUs
};

/// Backends that the engine chooses from.
struct Backends {
  std::shared_ptr<Backend> processor;
  std::shared_ptr<Backend> gpu;  ///< null if none is available: then `without_gpu` is the reason
  BackendKind gpu_kind;          ///< kind in requests for GPUs, whether any is available or not
  std::string without_gpu;
};

class Engine {
 public:
  explicit Engine(Backends backends);

  const Backends& backends() const { return backends_; }

  /// Returns all rows of the registry: those of the CPU, then those of GPUs, in the table's order.
  const std::vector<const Variant*>& variants() const { return variants_; }

  /// Sets a more precise reason than the build's for the missing GPU backend. Only the first call has an effect, and it
  /// must precede all other calls.
  void explain_without_gpu(std::string reason);

  /// Returns the reason why GPU `device` can't be used; empty if it can be used.
  std::string gpu_unusable(int device);

  /// Returns the number of GPUs, usable or not.
  int device_count();

  /// Returns the default choice of `auto`, which properties of a product may override.
  Explanation explain(int device);

  /// Returns whether execute() would compute the problems on a GPU, as far as this is known in advance.
  bool is_for_gpu(const std::vector<Problem>& problems, const Request& request);
  /// Returns whether execute_user() would compute the product on a GPU, as far as this is known in advance.
  bool is_for_gpu(const UserProduct& product, const Request& request);

  /// Computes `problem` into problem.c. Throws Error.
  Result execute(const Problem& problem, const Request& request);

  /// Returns the plan and the device that execute() would use. The results need no memory. Throws Error.
  Result plan(const Problem& problem, const Request& request);

  /// Computes `problems` in order. Throws Error for the first that fails; the problems before it have been computed.
  std::vector<Result> execute(const std::vector<Problem>& problems, const Request& request);

  /// Computes a product over a custom semiring into its C, in host memory. Multiple devices divide it by rows, or by
  /// batch entries. Throws Error.
  Result execute_user(const UserProduct& product, const Request& request);

  /// Returns a description of the device and the kernel that execute_user() would use. Throws Error.
  std::string explain_user(const UserProduct& product, const Request& request);
  std::string explain_user(Session& session, const UserProduct& product, const Placement& where);

  /// Starts a product over a custom semiring like Session::multiply_user(), but of any sizes, and with operands in any
  /// memory. C and the witness must be in memory of the session.
  std::unique_ptr<Pending> multiply_user(Session& session, const UserProduct& product, const Placement& where);

  /// Folds strands of RNA, and computes the interaction of two. Under `auto` a GPU is used if the work is large enough
  /// and the tables fit its memory. Throws Error.
  Computed<std::vector<Folding>> fold(const FoldRequest& asked, const Request& request);
  Computed<Interactions> interact(const InteractionRequest& asked, const Request& request);
  /// Returns whether fold() would compute the request on a GPU, as far as this is known in advance.
  bool is_for_gpu(const FoldRequest& asked, const Request& request);
  bool is_for_gpu(const InteractionRequest& asked, const Request& request);

  /// Opens `device` for device-resident matrices: a GPU, or the CPU if the choice is `auto` and the GPU can't be used.
  /// Throws Error.
  std::unique_ptr<Session> open(BackendChoice choice, int device, int64_t device_memory);

  /// Opens a multi-GPU session, over which matrices are sharded. Opens the CPU if all GPUs are requested, the choice is
  /// `auto` and none is available. Throws Error.
  std::unique_ptr<Session> open(BackendChoice choice, DeviceSet devices, int64_t device_memory);

  /// Returns the plan that multiply() would use. Throws Error.
  Plan plan(Session& session, const Problem& problem, const Placement& where);

  /// Starts products like Session::multiply(), but of any sizes.
  std::unique_ptr<Pending> multiply(Session& session, const std::vector<Problem>& problems, const Placement& where);

 private:
  static constexpr const char* kSooner = "the cpu backend is estimated to take less time";
  /// Returns the preferred backend for a product, regardless of memory.
  Backend& prefer(const Problem& problem, const Request& request);
  /// Returns the backend for a product that has memory for it.
  Backend& choose(const Problem& problem, const Request& request);
  /// Returns the plan of a product of host matrices.
  Plan plan(Backend& backend, const Problem& problem, const Placement& where);

  /// Leases a session for products of host matrices. Their placement must be converted by on_session().
  SessionPool::Lease take_session(Backend& backend, const Placement& where) {
    return sessions_.take(backend, &backend == &processor() ? 0 : where.device, where.device_memory);
  }

  /// Returns `where` on the device of the session, whose number may differ from the requested one.
  static Placement on_session(const Session& session, const Placement& where) {
    return on_device(session.device(), where);
  }

  /// Returns the backend for an RNA recurrence of `steps` steps.
  Backend& choose_rna(double steps, const Request& request);
  template <class Query, class Answer>
  Computed<Answer> compute_rna(const Query& asked, const Request& request,
                               Answer (Backend::*compute)(const Query&, const Placement&));

  /// Returns the backend for a product over a custom semiring. Sets `reason` (see Explanation) unless it is null.
  Backend& choose_user(const UserProduct& product, const Request& request, std::string* reason = nullptr);
  /// Computes the parts of a product, each on one device.
  Outcome execute_user_parts(const UserProduct& product, const Placement& where, const std::vector<int>& devices);

  /// Returns whether a GPU is expected to compute the group sooner.
  bool is_group_for_gpu(const std::vector<Problem>& problems, const Request& request);

  /// Returns the devices of a set, all of which can be used. Returns none if all GPUs are requested and none is
  /// available. Throws Error.
  std::vector<int> devices_of(DeviceSet devices, BackendChoice choice);
  Backend& processor() const { return *backends_.processor; }
  /// Returns the GPU backend, which must exist.
  Backend& gpu() const { return *backends_.gpu; }
  /// Returns whether a GPU backend exists that isn't the CPU's under another name.
  bool has_gpu() const { return backends_.gpu && gpu().kind() != processor().kind(); }
  bool is_processor_demanded(const Request& request) const { return request.backend == only(processor().kind()); }
  /// Returns whether the request excludes the CPU.
  bool is_gpu_demanded(const Request& request) const {
    const Variant* const variant = request.where.variant;
    return request.backend == only(backends_.gpu_kind) || (variant && variant->backend == backends_.gpu_kind);
  }
  bool is_multi_device(const Request& request) const { return request.devices != 0 && !is_processor_demanded(request); }
  /// Returns whether the CPU was requested or no GPU can be used. Throws Error if a GPU was requested. Sets `reason`
  /// (see Explanation) unless it is null, because building the string takes as long as a small product.
  bool needs_processor(const Request& request, std::string* reason = nullptr);
  /// Returns the error for a request for GPUs that can't be used.
  Error gpu_error(const std::string& reason) const;

  /// Returns the backend of multi-device products.
  Backend& multi_device_backend() const { return backends_.gpu ? gpu() : processor(); }
  /// Returns the request for one of the devices, or for the CPU if `devices` is empty.
  static Request for_one(const Request& request, const std::vector<int>& devices);
  /// Parts of a product, and the devices that compute them.
  struct Division {
    std::vector<int> devices;
    std::vector<Region> regions;
  };
  /// Returns the fastest partition of the product among some of `devices` that have memory for their parts. Returns a
  /// partition without devices if none is possible; `refused` is the reason.
  Division divide_among(const Problem& problem, const std::vector<int>& devices, const Placement& where,
                        std::string& refused);
  /// Like divide_among(), regardless of memory. `by_time`: the time of each device for the whole product and its
  /// number, sorted.
  Division soonest_division(const Problem& problem, const std::vector<std::pair<double, int>>& by_time);
  /// A product that multiple devices compute together.
  struct Shared {
    Division division;
    Placement where;
    Result result;  ///< complete except for the outcome
  };
  /// Returns the partition of a product among multiple devices. Returns nothing if one device is better; then `alone` is
  /// the request for it. Throws Error.
  std::optional<Shared> share(const Problem& problem, const Request& request, Request& alone);
  /// Waits until no other multi-device product runs. Throws aborted().
  std::unique_lock<std::mutex> await_multi_device(const std::atomic<int32_t>* cancelled);
  Result execute_on_devices(const Problem& problem, const Request& request);
  Result plan_on_devices(const Problem& problem, const Request& request);
  std::vector<Result> execute_on_devices(const std::vector<Problem>& problems, const Request& request);
  Outcome compute_parts(const Problem& problem, const Placement& where, const Division& division);
  /// Records the speeds of devices if their parts took long enough to measure them. `times`: duration of each part in
  /// ms.
  void update_device_throughput(const Problem& problem, const Division& division, const std::vector<double>& times);
  /// Serializes multi-device products: two of them could wait for each other's memory forever.
  std::mutex multi_device_mutex_;
  Speeds speeds_;
  Backends backends_;
  SessionPool sessions_;
  std::once_flag explained_;
  std::vector<const Variant*> variants_;
};

}  // namespace mpmml
