#include "core/execute.h"

#include "core/dispatch.h"
#include "core/exact.h"
#include "core/scan.h"
#include "core/status.h"

namespace mpmml {
namespace {

/// C = C0 (numbers only, where NaN is no candidate), or zero everywhere: what remains of a product with K = 0.
template <class S>
void fill_without_product(const Problem& problem) {
  using Element = typename S::Element;
  if (problem.outputs() == 0) return;
  for (int64_t batch = 0; batch < problem.batch; ++batch) {
    for (int64_t row = 0; row < problem.m(); ++row) {
      for (int64_t col = 0; col < problem.n(); ++col) {
        Element value = S::zero;
        if (problem.c0.data) value = S::combine(value, element_at<Element>(problem.c0, batch, row, col));
        const_cast<Element&>(element_at<Element>(problem.c, batch, row, col)) = value;
      }
    }
  }
}

/// Without values every path is exact.
constexpr PathSet exact_without_values() {
  PathSet paths;
  for (int index = 0; index < kRangePaths; ++index) paths.add(static_cast<RangePath>(index));
  return paths;
}

Error overflow_error(const Problem& problem, int64_t index) {
  const int64_t col = index % problem.n();
  const int64_t row = index / problem.n() % problem.m();
  const int64_t batch = index / problem.n() / problem.m();
  return with_integer_semiring(problem.semiring, problem.dtype, [&](auto semiring) {
    using S = decltype(semiring);
    const int64_t value = exact_cell<Wide<S>>(problem, batch, row, col);
    return Error(ErrorCode::kOverflow,
                 "C[" + (problem.batch > 1 ? std::to_string(batch) + ", " : "") + std::to_string(row) + ", " +
                     std::to_string(col) + "] is decided by the sum " + std::to_string(value) +
                     ", outside the finite range " + std::to_string(S::finite_min) + " to " +
                     std::to_string(S::finite_max) + ": scale the operands, or choose overflow 'saturate' or 'wrap'");
  });
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
  if (request.variant && request.backend != BackendChoice::kAuto &&
      (request.variant->backend == BackendKind::kCpu) != (request.backend == BackendChoice::kCpu)) {
    throw Error(ErrorCode::kVariant, "variant " + std::string(request.variant->name) +
                                         " belongs to the other backend than the one asked for: leave `backend` out");
  }
  const bool cpu_asked =
      request.backend == BackendChoice::kCpu || (request.variant && request.variant->backend == BackendKind::kCpu);
  if (cpu_asked) return {BackendKind::kCpu, "it was asked for"};
  const bool cuda_asked = request.backend == BackendChoice::kCuda || request.variant;
  Explanation automatic = explain(request.device);
  if (automatic.backend == BackendKind::kCuda && !cuda_asked) {
    if (cpu_->estimate_ms(problem, 0) <= cuda_->estimate_ms(problem, request.device)) {
      return {BackendKind::kCpu, "the product is too small to be worth the way to the device"};
    }
    const std::string refused = cuda_->refuses(problem, request.device);
    return refused.empty() ? automatic : Explanation{BackendKind::kCpu, refused};
  }
  if (automatic.backend == BackendKind::kCpu && cuda_asked) {
    throw Error(ErrorCode::kNoCuda, "the cuda backend can't be used: " + automatic.reason);
  }
  return automatic;
}

Result Engine::execute(const Problem& problem, const Request& request) {
  if (request.variant) check_requested(problem, *request.variant);
  const Explanation choice = choose(problem, request);
  Backend& backend = choice.backend == BackendKind::kCuda ? *cuda_ : *cpu_;
  Result result{choice.backend, {}};
  if (problem.outputs() == 0 || problem.k() == 0) {
    if (!request.plan_only)
      with_semiring(problem.semiring, problem.dtype,
                    [&](auto semiring) { fill_without_product<decltype(semiring)>(problem); });
    result.outcome.plan = make_plan(problem, exact_without_values(), backend.variants(), request.variant,
                                    [](const Variant&, RangePath) { return Judgement{}; });
    return result;
  }
  if (request.plan_only) {
    const ValueRange a = scan_matrices(problem.semiring, problem.dtype, problem.a, problem.batch);
    const ValueRange b = scan_matrices(problem.semiring, problem.dtype, problem.b, problem.batch);
    result.outcome.plan = backend.plan(problem, a, b, request.device, request.variant);
    return result;
  }
  if (choice.backend == BackendKind::kCuda) {
    const std::string refused = backend.refuses(problem, request.device);
    if (!refused.empty()) throw Error(ErrorCode::kOutOfMemory, refused);
  }
  result.outcome = backend.run(problem, request.device, request.variant);
  if (result.outcome.overflow) throw overflow_error(problem, *result.outcome.overflow);
  return result;
}

}  // namespace mpmml
