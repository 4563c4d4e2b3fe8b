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
    if (cuda_asked) throw Error(ErrorCode::kNoCuda, "the cuda backend can't be used: " + automatic.reason);
    return automatic;
  }
  const bool has_steps = problem.outputs() > 0 && problem.k() > 0;
  if (!has_steps) return automatic;
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
  if (!request.plan_only) require_elements_of_c0(problem);
  if (problem.outputs() == 0 || problem.k() == 0) {
    if (!request.plan_only) store_without_steps(problem);
    result.outcome.plan = make_plan(problem.operation, exact_without_values(), backend.variants(), where.variant,
                                    [](const Variant&, RangePath) { return Judgement{}; });
    return result;
  }
  if (request.plan_only) {
    ValueRange a, b;
    if (can_overflow(problem.operation)) {
      a = scan_matrices(problem.operation, problem.a, problem.batch);
      b = scan_matrices(problem.operation, problem.b, problem.batch);
    }
    result.outcome.plan = backend.plan(problem, a, b, where);
    return result;
  }
  result.outcome = backend.run(problem, where);
  if (result.outcome.overflow) throw overflow_error(problem, *result.outcome.overflow);
  return result;
}

}  // namespace mpmml
