#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/algebra/dispatch.h"
#include "core/problem/structured.h"
#include "cuda/device/error.h"
#include "cuda/launch/kernel.h"
#include "cuda/launch/ranked_sample.cuh"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/ranked_choice.h"

namespace mpmml::cuda {
namespace {

// Least number of steps for a sample. A sample takes 0.13 ms on an H200, about a hundredth of a product of this size
// (11 ms).
constexpr double kMinSteps = 2e11;
/// Least number of steps for a sample if the caller waits for each product. At this size a sample costs a fourth of the
/// product if the ranked family isn't chosen, and the family takes half of the time if it is.
constexpr double kMinStepsIfWaiting = 3e9;
constexpr int64_t kMinSide = 1024;

bool is_integer_sum_of(const Operation& operation) {
  return with_semiring(operation, [](auto semiring) { return is_integer_sum<decltype(semiring)>; });
}

const Variant* ranked_variant(const Operation& operation) {
  for (const KernelVariant& row : kernel_variants()) {
    const Variant& variant = row.variant;
    if (std::strcmp(variant.family, "ranked") == 0 && variant.semiring == operation.semiring &&
        variant.dtype == operation.dtype) {
      return &variant;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<Plan> ranked_plan(const Problem& problem, const Plan& plan, ArithmeticSet exact, const Placement& where) {
  // The decision for the whole product also holds for its parts.
  const int64_t m = std::max(problem.m(), where.whole_m), n = std::max(problem.n(), where.whole_n);
  const double steps = double(problem.batch) * double(m) * double(n) * double(problem.k());
  const bool is_large = problem.batch == 1 && steps >= (where.waits ? kMinStepsIfWaiting : kMinSteps) &&
                        std::min({m, n, problem.k()}) >= kMinSide;
  if (!is_large || is_structured(problem) || requested_auxiliary(problem) || problem.has_narrow() ||
      !is_integer_sum_of(problem.operation) || problem.operation.overflow == OverflowPolicy::kWrap) {
    return std::nullopt;
  }
  if (std::find(std::begin(kExponentPaths), std::end(kExponentPaths), plan.path) != std::end(kExponentPaths)) {
    return std::nullopt;
  }
  const Variant* const variant = ranked_variant(problem.operation);
  if (!variant) return std::nullopt;
  for (const ArithmeticKind path : {ArithmeticKind::kDirect, ArithmeticKind::kTranslated}) {
    if (exact.has(path) && variant->paths.has(path)) return Plan{variant, path};
  }
  return std::nullopt;
}

bool has_few_pairs(const Operation& operation, const MatrixView& a, const MatrixView& b, double dense_steps, int device,
                   cudaStream_t stream) {
  const DeviceBuffer memory(sizeof(RankedSample), device, stream);
  auto* const sample = static_cast<RankedSample*>(memory.get());
  with_semiring_that<IsIntegerSum>(operation.semiring, operation.dtype, [&](auto semiring) {
    using S = decltype(semiring);
    sample_product<S>(ranked_lines(pack_source(a, Side::kA)), ranked_lines(pack_source(b, Side::kB)), sample, stream);
  });
  MPMML_CUDA(cudaGetLastError());
  RankedDepths known;
  MPMML_CUDA(cudaMemcpyAsync(&known, &sample->known, sizeof(known), cudaMemcpyDeviceToHost, stream));
  MPMML_CUDA(cudaStreamSynchronize(stream));
  // Evaluating a pair takes about 50 times as long as a step of the pipelined kernels (H200), and rows of B without
  // pairs take time, too.
  constexpr double kWordStepsPerPair = 128;
  const double per_element = double(known.pairs[known.chosen()]) / (double(kRankedSampleRows) * kRankedSampleCols);
  return per_element * kWordStepsPerPair <= dense_steps;
}

bool sample_favours_ranked(const Problem& problem, const Plan& plan, const MatrixView& a, const MatrixView& b,
                           int device, cudaStream_t stream) {
  const bool is_half = plan.path == ArithmeticKind::kHalf || plan.path == ArithmeticKind::kHalfTranslated;
  return has_few_pairs(problem.operation, a, b, double(problem.k()) / (is_half ? 2 : 1), device, stream);
}

}  // namespace mpmml::cuda
