// One product from request to result: chooses the backend, handles the products that need no kernel, reports overflow.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/devices/parts.h"
#include "core/devices/pretended_devices.h"
#include "core/session/backend.h"
#include "core/session/session.h"
#include "core/session/session_pool.h"
#include "core/status.h"

namespace mpmml {

enum class BackendChoice : uint8_t { kAuto, kCpu, kCuda };
constexpr const char* kBackendChoiceNames[] = {"auto", "cpu", "cuda"};

/// Bit i is for device i.
using DeviceSet = uint64_t;
/// So many can be in a set, because JavaScript's numbers hold no more bits.
constexpr int kMostDevices = 52;
/// All that there are.
constexpr DeviceSet kAllDevices = (DeviceSet{1} << kMostDevices) - 1;

struct Request {
  BackendChoice backend = BackendChoice::kAuto;
  Placement where;
  /// The CUDA devices that may compute it together, and not `where.device`: bit i is for device i. 0: only that one.
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
  int device = 0;         ///< of CUDA: the first of those that computed it
  DeviceSet devices = 0;  ///< those that computed it together; 0 if there was one
};

class Engine {
 public:
  /// `cuda` may be null; then `without_cuda` says why.
  Engine(std::unique_ptr<Backend> cpu, std::unique_ptr<Backend> cuda, std::string without_cuda);

  /// All rows of the registry: the CPU's, then CUDA's, each in the table's order.
  const std::vector<const Variant*>& variants() const { return variants_; }

  /// Says better than the build can why there is no CUDA backend. Only the first call has an effect, and it has to come
  /// before anything else is asked.
  void explain_without_cuda(std::string reason);

  /// Why CUDA can't be used on `device`; empty if it can.
  std::string cuda_unusable(int device);

  /// How many CUDA devices there are for work on several, whether they can be used or not.
  int device_count();

  /// What `auto` takes unless something about the product decides otherwise.
  Explanation explain(int device);

  /// Whether execute() would compute the problems on a GPU, as far as that is known before it.
  bool is_for_cuda(const std::vector<Problem>& problems, const Request& request);
  /// The same of execute_user().
  bool is_for_cuda(const UserProduct& product, const Request& request);

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

  /// Opens `device` for matrices that stay: of CUDA, or if the choice is `auto` and it can't be used, the CPU.
  /// Throws Error.
  std::unique_ptr<Session> open(BackendChoice choice, int device, int64_t device_memory);

  /// Opens several CUDA devices as one, among which matrices are spread. If all are asked for, the choice is `auto` and
  /// there is none, opens the CPU. Throws Error.
  std::unique_ptr<Session> open(BackendChoice choice, DeviceSet devices, int64_t device_memory);

  /// For tests on machines that don't have as many: from now on there are `count` devices for work on several, all of
  /// which are CUDA device 0, or the CPU if that can't be used. 0: those that there are.
  void pretend_devices(int count);

  /// The plan that multiply() would follow. Throws Error.
  Plan plan(Session& session, const Problem& problem, const Placement& where);

  /// Starts products as Session::multiply() does, but with any sizes.
  std::unique_ptr<Pending> multiply(Session& session, const std::vector<Problem>& problems, const Placement& where);

 private:
  /// Which backend takes a product, whatever memory its devices have.
  Explanation prefer(const Problem& problem, const Request& request);
  /// The same, if the product has memory there.
  Explanation choose(const Problem& problem, const Request& request);
  /// The plan of a product of host matrices.
  Plan plan(Backend& backend, const Problem& problem, const Placement& where);

  /// A session for products of host matrices there.
  SessionPool::Loan take_session(Backend& backend, const Placement& where) {
    return sessions_.take(backend, backend.kind() == BackendKind::kCpu ? 0 : where.device, where.device_memory);
  }

  /// Which backend takes a product over a semiring of one's own.
  Explanation choose_user(const UserProduct& product, const Request& request);
  /// Computes parts of it, each on a device.
  Outcome execute_user_parts(const UserProduct& product, const Placement& where, const std::vector<int>& devices);

  /// Whether a GPU is likely to compute the group sooner.
  bool is_group_for_cuda(const std::vector<Problem>& problems, const Request& request);

  /// The devices of a set, which can all be used. None if all are asked for, and there is none. Throws Error.
  std::vector<int> devices_of(DeviceSet devices, BackendChoice choice);
  /// The backend that devices for work on several belong to.
  Backend& several_backend();
  /// The request for one of the devices, or for the CPU if there are none.
  Request for_one(const Request& request, const std::vector<int>& devices) const;
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
  void learn_speeds(const Problem& problem, const Division& division, const std::vector<double>& times);
  std::atomic<PretendedDevices*> pretended_{nullptr};
  std::vector<std::unique_ptr<PretendedDevices>> all_pretended_;  ///< some may still compute
  /// One product on several devices at a time: two that wait for each other's memory would wait for ever.
  std::mutex several_mutex_;
  Speeds speeds_;
  std::unique_ptr<Backend> cpu_;
  std::unique_ptr<Backend> cuda_;
  SessionPool sessions_;
  std::string without_cuda_;
  std::once_flag explained_;
  std::vector<const Variant*> variants_;
};

/// Whether it is CUDA or nothing.
bool is_cuda_asked(const Request& request);

/// CUDA was asked for, but can't be used for this reason.
Error cuda_error(const std::string& reason);

}  // namespace mpmml
