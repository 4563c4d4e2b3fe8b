#include "cuda/backend.h"

#include <algorithm>
#include <stdexcept>

#include "core/dispatch.h"
#include "cuda/kernels/kernel.h"
#include "cuda/plan/blocks.h"
#include "cuda/plan/choices.h"
#include "cuda/plan/cost.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/product.h"

namespace mpmml::cuda {
namespace {

// Asking for free memory takes longer than a small product.
constexpr int64_t kSurelyFits = int64_t{64} << 20;

// How much longer the planner takes a kernel to run where its instructions are emulated.
constexpr double kSlowedDown = 8;

std::string in_mebibytes(int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(std::string architectures) : architectures_(std::move(architectures)) {
    for (const KernelVariant& row : kernel_variants()) variants_.push_back(&row.variant);
  }

  BackendKind kind() const override { return BackendKind::kCuda; }
  const std::vector<const Variant*>& variants() const override { return variants_; }
  std::string unusable(int device) override { return cuda::unusable(device, architectures_); }
  std::string refuses(const Problem& problem, int device) override;
  Plan plan(const Problem& problem, const ValueRange& a, const ValueRange& b, int device,
            const Variant* requested) override;
  double estimate_ms(const Problem& problem, int device) override;
  Outcome run(const Problem& problem, int device, const Variant* requested) override;

 private:
  Judgement judge(const Variant& variant, RangePath path, const Problem& problem, int device);

  static const Kernel& kernel_of(const Variant& variant) {
    for (const KernelVariant& row : kernel_variants()) {
      if (&row.variant == &variant) return *row.kernel;
    }
    throw std::logic_error("a CUDA variant without a kernel");
  }

  std::string architectures_;
  std::vector<const Variant*> variants_;
};

std::string CudaBackend::refuses(const Problem& problem, int device) {
  if (needed_bytes(problem) <= kSurelyFits) return {};
  const int64_t available = available_bytes(device);
  const int64_t least = needed_bytes(smallest_block(problem));
  if (least <= available) return {};
  return "a single block of the product needs " + in_mebibytes(least) + " of device memory, device " +
         std::to_string(device) + " has " + in_mebibytes(available) + " free: choose backend 'cpu'";
}

double CudaBackend::estimate_ms(const Problem& problem, int device) {
  // Measured on an H200: what a call costs, and a byte of pageable memory, where one slot suffices; the same in larger calls,
  // with one thread and with several, which are to be started; a step's share at 35 TOPS on 132 multiprocessors.
  constexpr double kSmallCallMs = 0.06, kBytesPerMsInSlots = 1.6e7;
  constexpr double kCallMs = 0.065, kBytesPerMs = 9e6;
  constexpr double kThreadsMs = 0.9, kBytesPerMsWithThreads = 4e7;
  constexpr double kStepsPerMsAndMultiprocessor = 1.3e8;
  const double bytes = double(dense_bytes(problem, problem.a)) + double(dense_bytes(problem, problem.b)) +
                       double(problem.outputs()) * element_bytes(problem.dtype);
  const double steps = double(problem.outputs()) * problem.k();
  const double copied = fits_slots(problem)
                            ? kSmallCallMs + bytes / kBytesPerMsInSlots
                            : kCallMs + std::min(bytes / kBytesPerMs, kThreadsMs + bytes / kBytesPerMsWithThreads);
  return copied + steps / (kStepsPerMsAndMultiprocessor * device_limits(device).multiprocessors);
}

Judgement CudaBackend::judge(const Variant& variant, RangePath path, const Problem& problem, int device) {
  const Kernel& kernel = kernel_of(variant);
  const DeviceLimits limits = device_limits(device);
  const int blocks =
      kernel.shape.shared_bytes <= limits.shared_bytes_per_block ? resident_blocks(kernel, path, device) : 0;
  if (blocks == 0) {
    return {"a block of it needs " + std::to_string(kernel.shape.shared_bytes) + " bytes of shared memory, device " +
                std::to_string(device) + " has " + std::to_string(limits.shared_bytes_per_block),
            0};
  }
  double clocks = estimate_clocks(kernel.shape, kernel.pack != nullptr, problem, limits, blocks);
  if (limits.capability < kernel.shape.full_speed_from) clocks *= kSlowedDown;
  return {{}, clocks};
}

Plan CudaBackend::plan(const Problem& problem, const ValueRange& a, const ValueRange& b, int device,
                       const Variant* requested) {
  const PathSet exact = with_semiring(problem.semiring, problem.dtype, [&](auto semiring) {
    return exact_paths<decltype(semiring)>(a, b, problem.overflow);
  });
  const Variant* measured = requested ? nullptr : measured_choice(device, problem, exact);
  return make_plan(problem, exact, variants_, requested, [&](const Variant& variant, RangePath path) {
    Judgement judgement = judge(variant, path, problem, device);
    if (&variant == measured) judgement.cost = 0;
    return judgement;
  });
}

Outcome CudaBackend::run(const Problem& problem, int device, const Variant* requested) {
  const Planner planner = [&](const ValueRange& a, const ValueRange& b) {
    return plan(problem, a, b, device, requested);
  };
  if (needed_bytes(problem) <= kSurelyFits || needed_bytes(problem) <= available_bytes(device)) {
    return multiply_on_device(problem, device, planner, kernel_of);
  }
  return multiply_in_blocks(problem, available_bytes(device), [&](const Problem& block) {
    return multiply_on_device(block, device, planner, kernel_of);
  });
}

}  // namespace

std::unique_ptr<Backend> make_backend(std::string architectures) {
  return std::make_unique<CudaBackend>(std::move(architectures));
}

}  // namespace mpmml::cuda
