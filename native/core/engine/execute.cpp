#include "core/engine/execute.h"

#include <utility>

#include "core/algebra/dispatch.h"
#include "core/problem/definition.h"
#include "core/problem/scan.h"
#include "core/problem/structured.h"
#include "core/status.h"

namespace mpmml {

namespace {

int64_t bytes_of(const Problem& problem) {
  const int64_t elements = items_of(problem.a, problem.batch) * problem.m() * problem.k() +
                           items_of(problem.b, problem.batch) * problem.k() * problem.n() + problem.outputs();
  return elements * element_bytes(problem.operation.dtype);
}

}  // namespace

Engine::Engine(Backends backends) : backends_(std::move(backends)) {
  variants_ = processor().variants();
  if (has_gpu()) variants_.insert(variants_.end(), gpu().variants().begin(), gpu().variants().end());
}

void Engine::explain_without_gpu(std::string reason) {
  std::call_once(explained_, [&] { backends_.without_gpu = std::move(reason); });
}

std::string Engine::gpu_unusable(int device) { return has_gpu() ? gpu().unusable(device) : backends_.without_gpu; }

Error Engine::gpu_error(const std::string& reason) const {
  const std::string name = kBackendNames[static_cast<int>(backends_.gpu_kind)];
  return Error(ErrorCode::kNoCuda, "the " + name + " backend can't be used: " + reason);
}

Explanation Engine::explain(int device) {
  const std::string unusable = gpu_unusable(device);
  if (!unusable.empty()) return {processor().kind(), unusable};
  return {gpu().kind(), name_of_device(gpu().kind(), device) + " is usable (products too small for it go to the CPU)"};
}

bool Engine::needs_processor(const Request& request, std::string* reason) {
  const Variant* const variant = request.where.variant;
  if (is_processor_demanded(request) || (variant && variant->backend == processor().kind())) {
    if (reason) *reason = "it was asked for";
    return true;
  }
  const std::string found = has_gpu() ? gpu().unusable(request.where.device) : std::string();
  const std::string& unusable = has_gpu() ? found : backends_.without_gpu;
  if (unusable.empty()) return false;
  if (is_gpu_demanded(request)) throw gpu_error(unusable);
  if (reason) *reason = unusable;
  return true;
}

Backend& Engine::prefer(const Problem& problem, const Request& request) {
  const Variant* variant = request.where.variant;
  if (variant && request.backend != BackendChoice::kAuto && request.backend != only(variant->backend)) {
    throw Error(ErrorCode::kVariant, "variant " + std::string(variant->name) +
                                         " belongs to another backend than the one asked for: leave `backend` out");
  }
  if (needs_processor(request)) return processor();
  const bool is_sooner = problem.has_steps() && !is_gpu_demanded(request) &&
                         processor().estimate_ms(problem, 0) <= gpu().estimate_ms(problem, request.where.device);
  return is_sooner ? processor() : gpu();
}

Backend& Engine::choose(const Problem& problem, const Request& request) {
  Backend& preferred = prefer(problem, request);
  if (&preferred == &processor() || !problem.has_steps()) return preferred;
  const std::string refused = gpu().refuses(problem, request.where);
  if (refused.empty()) return preferred;
  if (is_gpu_demanded(request)) throw Error(ErrorCode::kOutOfMemory, refused);
  return processor();
}

Plan Engine::plan(Backend& backend, const Problem& problem, const Placement& where) {
  if (!problem.has_steps()) return plan_without_steps(problem.operation, backend.variants(), where.variant);
  return backend.plan(problem, where, processor().for_runs(problem));
}

bool Engine::is_for_gpu(const std::vector<Problem>& problems, const Request& request) {
  if (!has_gpu() || problems.empty() || is_processor_demanded(request)) return false;
  return request.devices != 0 || is_group_for_gpu(problems, request) || &prefer(problems.front(), request) == &gpu();
}

Result Engine::execute(const Problem& problem, const Request& request) {
  if (is_multi_device(request)) return execute_on_devices(problem, request);
  const Placement& where = request.where;
  if (where.variant) check_requested(problem.operation, *where.variant);
  Backend& backend = choose(problem, request);
  clear_outside(problem);
  Result result{backend.kind(), {}, where.device};
  if (std::optional<Outcome> outcome = backend.multiply(problem, where)) {
    result.outcome = std::move(*outcome);
  } else if (problem.has_steps()) {
    const SessionPool::Lease loan = take_session(backend, where);
    Session& session = *loan.session();
    result.outcome = std::move(session.multiply(problem, on_session(session, where))->finish().front());
    result.device = session.device();
  } else {
    result.outcome.plan = plan_without_steps(problem.operation, backend.variants(), where.variant);
    store_without_steps(problem);
  }
  return result;
}

Result Engine::plan(const Problem& problem, const Request& request) {
  if (is_multi_device(request)) return plan_on_devices(problem, request);
  const Placement& where = request.where;
  if (where.variant) check_requested(problem.operation, *where.variant);
  Backend& backend = choose(problem, request);
  Result result{backend.kind(), {}, where.device};
  result.outcome.plan = plan(backend, problem, where);
  return result;
}

std::vector<Result> Engine::execute(const std::vector<Problem>& problems, const Request& request) {
  if (is_multi_device(request)) return execute_on_devices(problems, request);
  std::vector<Result> results(problems.size());
  std::vector<Problem> together;
  std::vector<size_t> places;
  const bool on_gpu = is_group_for_gpu(problems, request);
  for (size_t index = 0; index < problems.size(); ++index) {
    const Problem& problem = problems[index];
    if (on_gpu && problem.outputs() > 0 && gpu().runs_together(problem, request.where)) {
      clear_outside(problem);
      together.push_back(problem);
      places.push_back(index);
    }
  }
  try {
    if (!together.empty()) {
      const SessionPool::Lease loan = take_session(gpu(), request.where);
      Session& session = *loan.session();
      std::vector<Outcome> outcomes = session.multiply(together, on_session(session, request.where))->finish();
      for (size_t index = 0; index < places.size(); ++index) {
        results[places[index]] = {gpu().kind(), std::move(outcomes[index]), session.device()};
      }
    }
  } catch (const Error& error) {
    if (!error.product() && together.size() > 1) throw;
    throw Error(error.code(), error.what(), places[error.product().value_or(0)]);
  }
  size_t next = 0;
  for (size_t index = 0; index < problems.size(); ++index) {
    if (next < places.size() && places[next] == index) {
      ++next;
    } else {
      of_product(index, [&] { results[index] = execute(problems[index], request); });
    }
  }
  return results;
}

bool Engine::is_group_for_gpu(const std::vector<Problem>& problems, const Request& request) {
  if (problems.size() < 2 || request.where.variant || is_processor_demanded(request)) return false;
  const std::string unusable = gpu_unusable(request.where.device);
  const bool is_demanded = is_gpu_demanded(request);
  if (!unusable.empty()) {
    if (is_demanded) throw gpu_error(unusable);
    return false;
  }
  if (is_demanded) return true;
  double cpu = 0, steps = 0, bytes = 0;
  for (const Problem& problem : problems) {
    cpu += processor().estimate_ms(problem, 0);
    steps += cost_of_step(problem.operation) * steps_of(problem);
    bytes += double(bytes_of(problem));
  }
  // Measured on an H200: the time of a call, of the host's work for a product, of a byte and of a step.
  constexpr double kCallMs = 0.2, kProductMs = 0.001, kBytesPerMs = 4e6, kStepsPerMs = 4e9;
  return kCallMs + kProductMs * double(problems.size()) + bytes / kBytesPerMs + steps / kStepsPerMs < cpu;
}

std::unique_ptr<Session> Engine::open(BackendChoice choice, int device, int64_t device_memory) {
  if (choice != only(processor().kind())) {
    const std::string unusable = gpu_unusable(device);
    if (unusable.empty()) return gpu().open(device, device_memory);
    if (choice != BackendChoice::kAuto) throw gpu_error(unusable);
  }
  return processor().open(0, device_memory);
}

Plan Engine::plan(Session& session, const Problem& problem, const Placement& where) {
  if (where.variant) check_requested(problem.operation, *where.variant);
  if (problem.has_steps()) return session.plan(problem, where);
  const Backend& backend = session.backend() == processor().kind() ? processor() : gpu();
  return plan_without_steps(problem.operation, backend.variants(), where.variant);
}

std::unique_ptr<Pending> Engine::multiply(Session& session, const std::vector<Problem>& problems,
                                          const Placement& where) {
  if (where.variant) {
    for (size_t index = 0; index < problems.size(); ++index) {
      of_product(index, [&] { check_requested(problems[index].operation, *where.variant); });
    }
    if (where.variant->backend != session.backend()) {
      throw Error(ErrorCode::kVariant, "variant " + std::string(where.variant->name) +
                                           " belongs to another backend than the matrices' device");
    }
  }
  // The host can't write the elements of matrices on GPUs or on multiple devices.
  for (const Problem& problem : problems) session.is_host() ? clear_outside(problem) : clear_outside(session, problem);
  try {
    return session.multiply(problems, where);
  } catch (const Error& error) {
    if (error.product() || problems.size() > 1) throw;
    throw Error(error.code(), error.what(), 0);
  }
}

}  // namespace mpmml
