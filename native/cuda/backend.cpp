#include "cuda/backend.h"

#include <stdexcept>

#include "cuda/cost.h"
#include "cuda/device.h"
#include "cuda/kernel.h"
#include "cuda/memory.h"
#include "cuda/product.h"

namespace mpmml::cuda {
namespace {

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
  // Asking for free memory takes longer than a small product.
  constexpr int64_t kSurelyFits = int64_t{64} << 20;
  const int64_t needed = needed_bytes(problem);
  if (needed <= kSurelyFits) return {};
  const int64_t available = available_bytes(device);
  if (needed <= available) return {};
  return "the operands and the result need " + in_mebibytes(needed) + " of device memory, device " +
         std::to_string(device) + " has " + in_mebibytes(available) +
         " free: multiply blocks of the matrices, or choose backend 'cpu'";
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

Outcome CudaBackend::run(const Problem& problem, int device, const Variant* requested) {
  const Planner planner = [&](PathSet exact) {
    return make_plan(problem, exact, variants_, requested,
                     [&](const Variant& variant, RangePath path) { return judge(variant, path, problem, device); });
  };
  return multiply_on_device(problem, device, planner, kernel_of);
}

}  // namespace

std::unique_ptr<Backend> make_backend(std::string architectures) {
  return std::make_unique<CudaBackend>(std::move(architectures));
}

}  // namespace mpmml::cuda
