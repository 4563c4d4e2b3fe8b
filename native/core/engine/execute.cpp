#include "core/engine/execute.h"

#include "core/algebra/dispatch.h"
#include "core/problem/levels.h"
#include "core/problem/scan.h"
#include "core/problem/structured.h"
#include "core/problem/without_steps.h"
#include "core/problem/witness.h"
#include "core/status.h"

namespace mpmml {

bool is_cuda_asked(const Request& request) {
  return request.backend == BackendChoice::kCuda ||
         (request.where.variant && request.where.variant->backend == BackendKind::kCuda);
}

Error cuda_error(const std::string& reason) {
  return Error(ErrorCode::kNoCuda, "the cuda backend can't be used: " + reason);
}

namespace {

int64_t bytes_of(const Problem& problem) {
  const int64_t elements = items_of(problem.a, problem.batch) * problem.m() * problem.k() +
                           items_of(problem.b, problem.batch) * problem.k() * problem.n() + problem.outputs();
  return elements * element_bytes(problem.operation.dtype);
}

/// The same as clear_outside(problem) for matrices on a device. They are set as a whole: the product comes after that.
void clear_outside(Session& session, const Problem& problem) {
  if (problem.structure.c.is_all(problem.m(), problem.n())) return;
  if (!problem.keeps_c) {
    const double zero =
        with_semiring(problem.operation, [](auto semiring) { return static_cast<double>(decltype(semiring)::zero); });
    session.fill(problem.operation.dtype, problem.batch, problem.c, zero)->finish();
  }
  if (problem.witness.data && !problem.through.data) {
    session.fill(DataType::kInt32, problem.batch, problem.witness, kNoWitness)->finish();
  }
}

}  // namespace

Engine::Engine(std::unique_ptr<Backend> cpu, std::unique_ptr<Backend> cuda, std::string without_cuda)
    : cpu_(std::move(cpu)), cuda_(std::move(cuda)), without_cuda_(std::move(without_cuda)) {
  for (Backend* backend : {cpu_.get(), cuda_.get()}) {
    if (backend) variants_.insert(variants_.end(), backend->variants().begin(), backend->variants().end());
  }
}

void Engine::explain_without_cuda(std::string reason) {
  std::call_once(explained_, [&] { without_cuda_ = std::move(reason); });
}

std::string Engine::cuda_unusable(int device) { return cuda_ ? cuda_->unusable(device) : without_cuda_; }

Explanation Engine::explain(int device) {
  const std::string unusable = cuda_unusable(device);
  if (unusable.empty()) {
    return {BackendKind::kCuda,
            "CUDA device " + std::to_string(device) + " is usable (products too small for it go to the CPU)"};
  }
  return {BackendKind::kCpu, unusable};
}

Explanation Engine::prefer(const Problem& problem, const Request& request) {
  const Variant* variant = request.where.variant;
  if (variant && request.backend != BackendChoice::kAuto &&
      (variant->backend == BackendKind::kCpu) != (request.backend == BackendChoice::kCpu)) {
    throw Error(ErrorCode::kVariant, "variant " + std::string(variant->name) +
                                         " belongs to another backend than the one asked for: leave `backend` out");
  }
  const bool cpu_asked = request.backend == BackendChoice::kCpu || (variant && variant->backend == BackendKind::kCpu);
  if (cpu_asked) return {BackendKind::kCpu, "it was asked for"};
  const bool cuda_asked = is_cuda_asked(request);
  Explanation automatic = explain(request.where.device);
  if (automatic.backend == BackendKind::kCpu) {
    if (cuda_asked) throw cuda_error(automatic.reason);
    return automatic;
  }
  if (!problem.has_steps()) return automatic;
  if (!cuda_asked && cpu_->estimate_ms(problem, 0) <= cuda_->estimate_ms(problem, request.where.device)) {
    return {BackendKind::kCpu, "the cpu backend is estimated to take less time"};
  }
  return automatic;
}

Explanation Engine::choose(const Problem& problem, const Request& request) {
  const Explanation preferred = prefer(problem, request);
  if (preferred.backend == BackendKind::kCpu || !problem.has_steps()) return preferred;
  const std::string refused = cuda_->refuses(problem, request.where);
  if (refused.empty()) return preferred;
  if (is_cuda_asked(request)) throw Error(ErrorCode::kOutOfMemory, refused);
  return {BackendKind::kCpu, refused};
}

Plan Engine::plan(Backend& backend, const Problem& problem, const Placement& where) {
  if (!problem.has_steps()) return plan_without_steps(problem.operation, backend.variants(), where.variant);
  ValueRange a, b;
  const ForRuns for_runs = cpu_->for_runs(problem);
  const bool scans_lines = backend.scans_lines(problem, where);
  if (scans_lines || can_overflow(problem.operation)) {
    a = scan_matrices(problem.operation, problem.a, problem.batch, problem.structure.a, for_runs);
    b = scan_matrices(problem.operation, problem.b, problem.batch, problem.structure.b, for_runs);
  }
  if (scans_lines) {
    a.levels = levels_of_rows(problem.operation, problem.a, problem.batch, problem.structure.a, for_runs);
    b.levels = levels_of_columns(problem.operation, problem.b, problem.batch, problem.structure.b, for_runs);
  }
  return backend.plan(problem, a, b, where);
}

bool Engine::is_for_cuda(const std::vector<Problem>& problems, const Request& request) {
  if (!cuda_ || problems.empty() || request.backend == BackendChoice::kCpu) return false;
  if (request.devices != 0) return several_backend().kind() == BackendKind::kCuda;
  return is_group_for_cuda(problems, request) || prefer(problems.front(), request).backend == BackendKind::kCuda;
}

Result Engine::execute(const Problem& problem, const Request& request) {
  if (request.devices != 0 && request.backend != BackendChoice::kCpu) return execute_on_several(problem, request);
  const Placement& where = request.where;
  if (where.variant) check_requested(problem.operation, *where.variant);
  const Explanation choice = choose(problem, request);
  Backend& backend = choice.backend == BackendKind::kCuda ? *cuda_ : *cpu_;
  clear_outside(problem);
  Outcome outcome;
  if (problem.has_steps()) {
    const SessionPool::Loan loan = take_session(backend, where);
    outcome = std::move(loan.session()->multiply(problem, where)->finish().front());
  } else {
    outcome.plan = plan_without_steps(problem.operation, backend.variants(), where.variant);
    store_without_steps(problem);
  }
  return {choice.backend, std::move(outcome), where.device};
}

Result Engine::plan(const Problem& problem, const Request& request) {
  if (request.devices != 0 && request.backend != BackendChoice::kCpu) return plan_on_several(problem, request);
  const Placement& where = request.where;
  if (where.variant) check_requested(problem.operation, *where.variant);
  const Explanation choice = choose(problem, request);
  Result result{choice.backend, {}, where.device};
  result.outcome.plan = plan(choice.backend == BackendKind::kCuda ? *cuda_ : *cpu_, problem, where);
  return result;
}

std::vector<Result> Engine::execute(const std::vector<Problem>& problems, const Request& request) {
  if (request.devices != 0 && request.backend != BackendChoice::kCpu) return execute_on_several(problems, request);
  std::vector<Result> results(problems.size());
  std::vector<Problem> together;
  std::vector<size_t> places;
  const bool on_cuda = is_group_for_cuda(problems, request);
  for (size_t index = 0; index < problems.size(); ++index) {
    const Problem& problem = problems[index];
    if (on_cuda && problem.outputs() > 0 && cuda_->runs_together(problem, request.where)) {
      clear_outside(problem);
      together.push_back(problem);
      places.push_back(index);
    }
  }
  std::vector<Outcome> outcomes;
  try {
    if (!together.empty()) {
      const SessionPool::Loan loan = take_session(*cuda_, request.where);
      outcomes = loan.session()->multiply(together, request.where)->finish();
    }
  } catch (const Error& error) {
    if (!error.product() && together.size() > 1) throw;
    throw Error(error.code(), error.what(), places[error.product().value_or(0)]);
  }
  for (size_t index = 0; index < places.size(); ++index) {
    results[places[index]] = {BackendKind::kCuda, outcomes[index], request.where.device};
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

bool Engine::is_group_for_cuda(const std::vector<Problem>& problems, const Request& request) {
  if (problems.size() < 2 || request.where.variant || request.backend == BackendChoice::kCpu) return false;
  const int device = request.where.device;
  const std::string unusable = cuda_unusable(device);
  if (!unusable.empty()) {
    if (request.backend == BackendChoice::kCuda) throw cuda_error(unusable);
    return false;
  }
  if (request.backend == BackendChoice::kCuda) return true;
  double cpu = 0, steps = 0, bytes = 0;
  for (const Problem& problem : problems) {
    cpu += cpu_->estimate_ms(problem, 0);
    steps += cost_of_step(problem.operation) * steps_of(problem);
    bytes += double(bytes_of(problem));
  }
  // Measured on an H200: the cost of a call, of the host's work for a product, of a byte and of a step.
  constexpr double kCallMs = 0.2, kProductMs = 0.001, kBytesPerMs = 4e6, kStepsPerMs = 4e9;
  return kCallMs + kProductMs * double(problems.size()) + bytes / kBytesPerMs + steps / kStepsPerMs < cpu;
}

std::unique_ptr<Session> Engine::open(BackendChoice choice, int device, int64_t device_memory) {
  const std::string unusable = choice == BackendChoice::kCpu ? "it wasn't asked for" : cuda_unusable(device);
  if (unusable.empty()) return cuda_->open(device, device_memory);
  if (choice == BackendChoice::kCuda) throw cuda_error(unusable);
  return cpu_->open(0, device_memory);
}

Plan Engine::plan(Session& session, const Problem& problem, const Placement& where) {
  if (where.variant) check_requested(problem.operation, *where.variant);
  if (problem.has_steps()) return session.plan(problem, where);
  const Backend& backend = session.backend() == BackendKind::kCuda ? *cuda_ : *cpu_;
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
  // Of several devices' and of a GPU's matrices the elements are out of reach here.
  const bool is_host = session.backend() == BackendKind::kCpu && session.devices().empty();
  for (const Problem& problem : problems) is_host ? clear_outside(problem) : clear_outside(session, problem);
  try {
    return session.multiply(problems, where);
  } catch (const Error& error) {
    if (error.product() || problems.size() > 1) throw;
    throw Error(error.code(), error.what(), 0);
  }
}

}  // namespace mpmml
