// One product from request to result: chooses the backend, handles the products that need no kernel, reports overflow.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/session.h"

namespace mpmml {

enum class BackendChoice : uint8_t { kAuto, kCpu, kCuda };
constexpr const char* kBackendChoiceNames[] = {"auto", "cpu", "cuda"};

struct Request {
  BackendChoice backend = BackendChoice::kAuto;
  Placement where;
  bool plan_only = false;  ///< choose, but compute nothing
};

/// Which backend `auto` takes, and why, as a clause that can follow "because".
struct Explanation {
  BackendKind backend;
  std::string reason;
};

struct Result {
  BackendKind backend;
  Outcome outcome;
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

  /// What `auto` takes unless something about the product decides otherwise.
  Explanation explain(int device);

  /// Computes `problem` into problem.c, or only plans it. Throws Error.
  Result execute(const Problem& problem, const Request& request);

  /// The same for several problems. Throws Error for the first that fails; those before it have been computed.
  std::vector<Result> execute(const std::vector<Problem>& problems, const Request& request);

  /// Opens `device` for matrices that stay: of CUDA, or if the choice is `auto` and it can't be used, the CPU.
  /// Throws Error.
  std::unique_ptr<Session> open(BackendChoice choice, int device, int64_t device_memory);

  /// The plan that multiply() would follow. Throws Error.
  Plan plan(Session& session, const Problem& problem, const Placement& where);

  /// Starts products as Session::multiply() does, but with any sizes.
  std::unique_ptr<Pending> multiply(Session& session, const std::vector<Problem>& problems, const Placement& where);

 private:
  Explanation choose(const Problem& problem, const Request& request);

  /// Runs a product whose values are in host memory: `run` computes it if it has steps.
  template <class Run>
  Outcome compute(Backend& backend, const Problem& problem, const Placement& where, Run run);

  /// Computes a product with witnesses on a CUDA device, in a session: only its products find them.
  Outcome compute_with_witness(const Problem& problem, const Placement& where);
  /// Computes small products of a group on a CUDA device, with one transfer each way.
  std::vector<Outcome> compute_together(const std::vector<Problem>& problems, const Placement& where);
  std::vector<Outcome> compute_together(Session& session, const std::vector<Problem>& problems, const Placement& where);
  /// Whether a GPU is likely to compute the group sooner.
  bool is_group_for_cuda(const std::vector<Problem>& problems, const Request& request);

  /// The sessions of groups that come from the host, and of products with witnesses, by device.
  struct GroupSession {
    std::mutex mutex;
    std::unique_ptr<Session> session;
  };
  /// Calls `body` with the session of a device, which nobody else uses meanwhile.
  template <class Body>
  auto with_session(const Placement& where, Body&& body);
  GroupSession& group_session(int device);

  std::mutex group_sessions_mutex_;
  std::map<int, std::unique_ptr<GroupSession>> group_sessions_;
  std::unique_ptr<Backend> cpu_;
  std::unique_ptr<Backend> cuda_;
  std::string without_cuda_;
  std::once_flag explained_;
  std::vector<const Variant*> variants_;
};

}  // namespace mpmml
