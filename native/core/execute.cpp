#include "core/execute.h"

#include "core/dispatch.h"
#include "core/epilogue.h"
#include "core/overflow.h"
#include "core/scan.h"
#include "core/status.h"

namespace mpmml {
namespace {

/// C = C0, or zero everywhere: the result of a product with K = 0.
void store_without_steps(const Problem& problem) {
  with_semiring(problem.operation, [&](auto semiring) {
    using Arithmetic = typename ByDefinition<decltype(semiring)>::Arithmetic;
    for (int64_t item = 0; item < problem.batch; ++item) {
      for (int64_t row = 0; row < problem.m(); ++row) {
        for (int64_t col = 0; col < problem.n(); ++col) {
          store_result<Arithmetic>(problem, problem.c, item, row, col, Arithmetic::initial());
        }
      }
    }
  });
}

/// If there are no values, every path is exact.
constexpr PathSet exact_without_values() {
  PathSet paths;
  for (int index = 0; index < kRangePaths; ++index) paths.add(static_cast<RangePath>(index));
  return paths;
}

bool has_steps(const Problem& problem) { return problem.outputs() > 0 && problem.k() > 0; }

Plan plan_without_steps(const Problem& problem, Backend& backend, const Placement& where) {
  return make_plan(problem.operation, exact_without_values(), backend.variants(), where.variant,
                   [](const Variant&, RangePath) { return Judgement{}; });
}

/// Runs `body`; an error says that it is of this product.
template <class Body>
void of_product(size_t index, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    throw Error(error.code(), error.what(), index);
  }
}

Error cuda_error(const std::string& reason) {
  return Error(ErrorCode::kNoCuda, "the cuda backend can't be used: " + reason);
}

}  // namespace

Engine::Engine(std::unique_ptr<Backend> cpu, std::unique_ptr<Backend> cuda, std::string without_cuda)
    : cpu_(std::move(cpu)), cuda_(std::move(cuda)), without_cuda_(std::move(without_cuda)) {
  for (Backend* backend : {cpu_.get(), cuda_.get()}) {
    if (backend) variants_.insert(variants_.end(), backend->variants().begin(), backend->variants().end());
  }
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

Explanation Engine::choose(const Problem& problem, const Request& request) {
  const Variant* variant = request.where.variant;
  if (variant && request.backend != BackendChoice::kAuto &&
      (variant->backend == BackendKind::kCpu) != (request.backend == BackendChoice::kCpu)) {
    throw Error(ErrorCode::kVariant, "variant " + std::string(variant->name) +
                                         " belongs to another backend than the one asked for: leave `backend` out");
  }
  const bool cpu_asked = request.backend == BackendChoice::kCpu || (variant && variant->backend == BackendKind::kCpu);
  if (cpu_asked) return {BackendKind::kCpu, "it was asked for"};
  const bool cuda_asked = request.backend == BackendChoice::kCuda || variant;
  Explanation automatic = explain(request.where.device);
  if (automatic.backend == BackendKind::kCpu) {
    if (cuda_asked) throw cuda_error(automatic.reason);
    return automatic;
  }
  if (!has_steps(problem)) return automatic;
  if (!cuda_asked && cpu_->estimate_ms(problem, 0) <= cuda_->estimate_ms(problem, request.where.device)) {
    return {BackendKind::kCpu, "the cpu backend is estimated to take less time"};
  }
  const std::string refused = cuda_->refuses(problem, request.where);
  if (refused.empty()) return automatic;
  if (cuda_asked) throw Error(ErrorCode::kOutOfMemory, refused);
  return {BackendKind::kCpu, refused};
}

Result Engine::execute(const Problem& problem, const Request& request) {
  const Placement& where = request.where;
  if (where.variant) check_requested(problem.operation, *where.variant);
  const Explanation choice = choose(problem, request);
  Backend& backend = choice.backend == BackendKind::kCuda ? *cuda_ : *cpu_;
  Result result{choice.backend, {}};
  if (!request.plan_only) {
    result.outcome = compute(backend, problem, where, [&] { return backend.run(problem, where); });
  } else if (!has_steps(problem)) {
    result.outcome.plan = plan_without_steps(problem, backend, where);
  } else {
    ValueRange a, b;
    if (can_overflow(problem.operation)) {
      a = scan_matrices(problem.operation, problem.a, problem.batch);
      b = scan_matrices(problem.operation, problem.b, problem.batch);
    }
    result.outcome.plan = backend.plan(problem, a, b, where);
  }
  return result;
}

template <class Run>
Outcome Engine::compute(Backend& backend, const Problem& problem, const Placement& where, Run run) {
  require_elements_of_c0(problem);
  Outcome outcome;
  if (!has_steps(problem)) {
    store_without_steps(problem);
    outcome.plan = plan_without_steps(problem, backend, where);
    return outcome;
  }
  outcome = run();
  if (outcome.overflow) throw overflow_error(problem, *outcome.overflow);
  return outcome;
}

std::vector<Result> Engine::execute(const std::vector<Problem>& problems, const Request& request) {
  std::vector<Result> results;
  results.reserve(problems.size());
  for (const Problem& problem : problems) {
    of_product(results.size(), [&] { results.push_back(execute(problem, request)); });
  }
  return results;
}

std::unique_ptr<Session> Engine::open(BackendChoice choice, int device, int64_t device_memory) {
  const std::string unusable = choice == BackendChoice::kCpu ? "it wasn't asked for" : cuda_unusable(device);
  if (unusable.empty()) return cuda_->open(device, device_memory);
  if (choice == BackendChoice::kCuda) throw cuda_error(unusable);
  return cpu_->open(0, device_memory);
}

Plan Engine::plan(Session& session, const Problem& problem, const Placement& where) {
  if (where.variant) check_requested(problem.operation, *where.variant);
  if (has_steps(problem)) return session.plan(problem, where);
  return plan_without_steps(problem, session.backend() == BackendKind::kCuda ? *cuda_ : *cpu_, where);
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
  // A GPU's values are out of reach here: its session checks them where they are.
  if (session.backend() == BackendKind::kCuda) return session.multiply(problems, where);
  std::vector<Outcome> outcomes;
  outcomes.reserve(problems.size());
  for (const Problem& problem : problems) {
    of_product(outcomes.size(), [&] {
      outcomes.push_back(
          compute(*cpu_, problem, where, [&] { return session.multiply({problem}, where)->finish().front(); }));
    });
  }
  return std::make_unique<Done>(std::move(outcomes));
}

}  // namespace mpmml
