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

/// Bit i is for device i.
using DeviceSet = uint64_t;
/// So many can be in a set, because JavaScript's numbers hold no more bits.
constexpr int kMaxDevices = 52;
/// All that there are.
constexpr DeviceSet kAllDevices = (DeviceSet{1} << kMaxDevices) - 1;

inline DeviceSet set_of(const std::vector<int>& devices) {
  DeviceSet set = 0;
  for (const int device : devices) set |= DeviceSet{1} << device;
  return set;
}

struct Request {
  BackendChoice backend = BackendChoice::kAuto;
  Placement where;
  /// The GPUs that may compute it together, and not `where.device`: bit i is for device i. 0: only that one.
  DeviceSet devices = 0;
};

/// Which backend `auto` takes, and why, as a clause that can follow "because".
struct Explanation {
  BackendKind backend;
  std::string reason;
};

struct Result {
  BackendKind backend;
  Outcome outcome;
  int device = 0;         ///< of GPUs: the first of those that computed it
  DeviceSet devices = 0;  ///< those that computed it together; 0 if there was one
};

/// What RNA's recurrences give, and where that was computed.
template <class Answer>
struct Computed {
  Answer answer;
  BackendKind backend;
  int device;  ///< of GPUs
};

/// The backends that products are divided among.
struct Backends {
  std::shared_ptr<Backend> processor;
  std::shared_ptr<Backend> gpu;  ///< null if there is none: then `without_gpu` says why
  BackendKind gpu_kind;          ///< what GPUs are asked for by, whether there are any or not
  std::string without_gpu;
};

class Engine {
 public:
  explicit Engine(Backends backends);

  const Backends& backends() const { return backends_; }

  /// All rows of the registry: the processor's, then the GPUs', each in the table's order.
  const std::vector<const Variant*>& variants() const { return variants_; }

  /// Says better than the build can why there is no backend for GPUs. Only the first call has an effect, and it has to come
  /// before anything else is asked.
  void explain_without_gpu(std::string reason);

  /// Why GPU `device` can't be used; empty if it can.
  std::string gpu_unusable(int device);

  /// How many GPUs there are, whether they can be used or not.
  int device_count();

  /// What `auto` takes unless something about the product decides otherwise.
  Explanation explain(int device);

  /// Whether execute() would compute the problems on a GPU, as far as that is known before it.
  bool is_for_gpu(const std::vector<Problem>& problems, const Request& request);
  /// The same of execute_user().
  bool is_for_gpu(const UserProduct& product, const Request& request);

  /// Computes `problem` into problem.c. Throws Error.
  Result execute(const Problem& problem, const Request& request);

  /// The plan that execute() would follow, and where. Its results need no memory. Throws Error.
  Result plan(const Problem& problem, const Request& request);

  /// The same for several problems. Throws Error for the first that fails; those before it have been computed.
  std::vector<Result> execute(const std::vector<Problem>& problems, const Request& request);

  /// Computes a product over a semiring of one's own into its C, in host memory. Several devices compute rows, or instances of a
  /// batch. Throws Error.
  Result execute_user(const UserProduct& product, const Request& request);

  /// Where and with what execute_user() would compute it, in words. Throws Error.
  std::string explain_user(const UserProduct& product, const Request& request);
  std::string explain_user(Session& session, const UserProduct& product, const Placement& where);

  /// Starts such a product as Session::multiply_user() does, but with any sizes, and with operands in any memory. C and the witness
  /// are the session's.
  std::unique_ptr<Pending> multiply_user(Session& session, const UserProduct& product, const Placement& where);

  /// Folds strands of RNA, and lets two interact. Unless GPUs were asked for, one takes it if there is much to compute, and if
  /// the tables fit its memory. Throws Error.
  Computed<std::vector<Folding>> fold(const FoldRequest& asked, const Request& request);
  Computed<Interactions> interact(const InteractionRequest& asked, const Request& request);
  /// Whether that would be computed on a GPU, as far as it is known before.
  bool is_for_gpu(const FoldRequest& asked, const Request& request);
  bool is_for_gpu(const InteractionRequest& asked, const Request& request);

  /// Opens `device` for matrices that stay: a GPU, or if the choice is `auto` and it can't be used, the processor.
  /// Throws Error.
  std::unique_ptr<Session> open(BackendChoice choice, int device, int64_t device_memory);

  /// Opens several GPUs as one, among which matrices are spread. If all are asked for, the choice is `auto` and there is
  /// none, opens the processor. Throws Error.
  std::unique_ptr<Session> open(BackendChoice choice, DeviceSet devices, int64_t device_memory);

  /// The plan that multiply() would follow. Throws Error.
  Plan plan(Session& session, const Problem& problem, const Placement& where);

  /// Starts products as Session::multiply() does, but with any sizes.
  std::unique_ptr<Pending> multiply(Session& session, const std::vector<Problem>& problems, const Placement& where);

 private:
  static constexpr const char* kSooner = "the cpu backend is estimated to take less time";
  /// Returns the backend that takes a product if its devices have the memory.
  Backend& prefer(const Problem& problem, const Request& request);
  /// Returns the backend that takes a product and has memory for it.
  Backend& choose(const Problem& problem, const Request& request);
  /// The plan of a product of host matrices.
  Plan plan(Backend& backend, const Problem& problem, const Placement& where);

  /// A session for products of host matrices there. They are placed on_session().
  SessionPool::Lease take_session(Backend& backend, const Placement& where) {
    return sessions_.take(backend, &backend == &processor() ? 0 : where.device, where.device_memory);
  }

  /// `where`, on the device of a session, which may have another number than the one by which it was asked for.
  static Placement on_session(const Session& session, const Placement& where) {
    return on_device(session.device(), where);
  }

  /// Which backend takes a recurrence of RNA of so many steps.
  Backend& choose_rna(double steps, const Request& request);
  template <class Asked, class Answer>
  Computed<Answer> compute_rna(const Asked& asked, const Request& request,
                               Answer (Backend::*compute)(const Asked&, const Placement&));

  /// Returns the backend that takes a product over a semiring of one's own. `reason`, as Explanation's, isn't set if it is null.
  Backend& choose_user(const UserProduct& product, const Request& request, std::string* reason = nullptr);
  /// Computes parts of it, each on a device.
  Outcome execute_user_parts(const UserProduct& product, const Placement& where, const std::vector<int>& devices);

  /// Whether a GPU is likely to compute the group sooner.
  bool is_group_for_gpu(const std::vector<Problem>& problems, const Request& request);

  /// The devices of a set, which can all be used. None if all are asked for, and there is none. Throws Error.
  std::vector<int> devices_of(DeviceSet devices, BackendChoice choice);
  Backend& processor() const { return *backends_.processor; }
  /// Only if there is one.
  Backend& gpu() const { return *backends_.gpu; }
  /// Whether there is a backend for GPUs that isn't the processor's under another name.
  bool has_gpu() const { return backends_.gpu && gpu().kind() != processor().kind(); }
  bool is_processor_demanded(const Request& request) const { return request.backend == only(processor().kind()); }
  /// Whether it is for GPUs or nothing.
  bool is_gpu_demanded(const Request& request) const {
    const Variant* const variant = request.where.variant;
    return request.backend == only(backends_.gpu_kind) || (variant && variant->backend == backends_.gpu_kind);
  }
  bool is_for_several(const Request& request) const { return request.devices != 0 && !is_processor_demanded(request); }
  /// Returns whether the processor was demanded or no GPU can be used. Throws Error if a GPU was demanded. `reason`, as
  /// Explanation's, isn't set if it is null: a text takes as long as a small product.
  bool needs_processor(const Request& request, std::string* reason = nullptr);
  /// GPUs were asked for, but can't be used for this reason.
  Error gpu_error(const std::string& reason) const;

  /// The backend of what `devices` are.
  Backend& several_backend() const { return backends_.gpu ? gpu() : processor(); }
  /// The request for one of the devices, or for the processor if there are none.
  static Request for_one(const Request& request, const std::vector<int>& devices);
  /// A product's parts, and the devices that compute them.
  struct Division {
    std::vector<int> devices;
    std::vector<Region> regions;
  };
  /// Those of `devices` that compute the product the soonest together, and have memory for their parts. If there are none,
  /// no devices: `refused` says why.
  Division divide_among(const Problem& problem, const std::vector<int>& devices, const Placement& where,
                        std::string& refused);
  /// The same whatever memory they have. `by_time`: how long each takes for the whole, and which it is, in that order.
  Division soonest_division(const Problem& problem, const std::vector<std::pair<double, int>>& by_time);
  /// A product that several devices compute together.
  struct Shared {
    Division division;
    Placement where;
    Result result;  ///< but for the outcome
  };
  /// How several devices compute the product together; nothing if one does better, as `alone` then says. Throws Error.
  std::optional<Shared> share(const Problem& problem, const Request& request, Request& alone);
  /// Waits until no other product is on several devices. Throws given_up().
  std::unique_lock<std::mutex> await_several(const std::atomic<int32_t>* cancelled);
  Result execute_on_several(const Problem& problem, const Request& request);
  Result plan_on_several(const Problem& problem, const Request& request);
  std::vector<Result> execute_on_several(const std::vector<Problem>& problems, const Request& request);
  /// One product after the other, each on several devices.
  std::vector<Result> execute_each_on_several(const std::vector<Problem>& problems, const Request& request);
  Outcome compute_parts(const Problem& problem, const Placement& where, const Division& division);
  /// Remembers how fast devices were, if their parts took long enough to tell. `times`: of each part, in ms.
  void update_device_throughput(const Problem& problem, const Division& division, const std::vector<double>& times);
  /// One product on several devices at a time: two that wait for each other's memory would wait for ever.
  std::mutex several_mutex_;
  Speeds speeds_;
  Backends backends_;
  SessionPool sessions_;
  std::once_flag explained_;
  std::vector<const Variant*> variants_;
};

}  // namespace mpmml
