#include "cuda/backend.h"

#include <mutex>

#include "core/dispatch.h"
#include "core/status.h"
#include "cuda/cost.h"
#include "cuda/device.h"
#include "cuda/error.h"
#include "cuda/kernel.h"
#include "cuda/memory.h"
#include "cuda/range.h"
#include "cuda/transfer.h"

namespace mpmml::cuda {
namespace {

/// The points of a lane that the times of a call lie between.
enum Mark { kStart, kUploaded, kScanned, kPlanned, kPrepared, kComputed, kDownloaded };
static_assert(kDownloaded < Lane::kMarks, "a lane has an event for each mark");

/// Small results of a call: on the device, and in the lane's pinned memory.
struct Results {
  ScanResult a, b;
  unsigned long long overflow;
};
static_assert(sizeof(Results) <= Lane::kResultBytes, "the results fit the lane's pinned memory");

constexpr unsigned long long kNoOverflow = ~0ull;

size_t element_bytes(DataType) { return sizeof(int32_t); }

// How much longer the planner takes a kernel to run where its instructions are emulated.
constexpr double kSlowedDown = 8;

int64_t dense_bytes(const Problem& problem, const MatrixView& view) {
  if (!view.data) return 0;
  const int64_t items = view.batch_stride == 0 ? 1 : problem.batch;
  return items * view.rows * view.cols * static_cast<int64_t>(element_bytes(problem.dtype));
}

int64_t needed_bytes(const Problem& problem) {
  return dense_bytes(problem, problem.a) + dense_bytes(problem, problem.b) + dense_bytes(problem, problem.c0) +
         problem.outputs() * static_cast<int64_t>(element_bytes(problem.dtype));
}

std::string in_mebibytes(int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

void throw_if_cancelled(const Problem& problem) {
  if (problem.is_cancelled()) throw Error(ErrorCode::kAborted, "the product was given up before it was complete");
}

PathSet exact_paths_of(const Problem& problem, const ValueRange& a, const ValueRange& b) {
  return with_semiring(problem.semiring, problem.dtype, [&](auto semiring) {
    return exact_paths<decltype(semiring)>(a, b, problem.overflow);
  });
}

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
  const int blocks = kernel.shape.shared_bytes <= limits.shared_bytes_per_block ? resident_blocks(kernel, path, device) : 0;
  if (blocks == 0) {
    return {"a block of it needs " + std::to_string(kernel.shape.shared_bytes) + " bytes of shared memory, device " +
                std::to_string(device) + " has " + std::to_string(limits.shared_bytes_per_block),
            0};
  }
  double clocks = estimate_clocks(kernel.shape, kernel.prepare != nullptr, problem, limits, blocks);
  if (limits.capability < kernel.shape.full_speed_from) clocks *= kSlowedDown;
  return {{}, clocks};
}

Outcome CudaBackend::run(const Problem& problem, int device, const Variant* requested) {
  throw_if_cancelled(problem);
  const size_t bytes = element_bytes(problem.dtype);
  const LaneHandle lane = take_lane(device);
  const cudaStream_t stream = lane->stream();
  auto* results = static_cast<Results*>(lane->results());
  const DeviceBuffer device_results(sizeof(Results), device, stream);
  auto* remote = static_cast<Results*>(device_results.get());

  lane->mark(kStart);
  const DeviceMatrix a = upload(problem.a, problem.batch, bytes, *lane);
  const DeviceMatrix b = upload(problem.b, problem.batch, bytes, *lane);
  DeviceMatrix c0;
  if (problem.c0.data) c0 = upload(problem.c0, problem.batch, bytes, *lane);
  lane->mark(kUploaded);

  scan_range(problem.semiring, problem.dtype, a.view.data, a.elements, &remote->a, stream);
  scan_range(problem.semiring, problem.dtype, b.view.data, b.elements, &remote->b, stream);
  MPMML_CUDA(cudaMemsetAsync(&remote->overflow, 0xff, sizeof(remote->overflow), stream));
  MPMML_CUDA(cudaMemcpyAsync(results, remote, sizeof(Results), cudaMemcpyDeviceToHost, stream));
  lane->mark(kScanned);
  lane->synchronize();
  throw_if_cancelled(problem);

  const ValueRange range_a = results->a.range(), range_b = results->b.range();
  Outcome outcome;
  outcome.plan = make_plan(
      problem, exact_paths_of(problem, range_a, range_b), variants_, requested,
      [&](const Variant& variant, RangePath path) { return judge(variant, path, problem, device); });
  const Kernel& kernel = kernel_of(*outcome.plan.variant);
  const DeviceBuffer c(problem.outputs() * static_cast<int64_t>(bytes), device, stream);
  Launch launch{};
  launch.batch = problem.batch;
  launch.m = problem.m();
  launch.n = problem.n();
  launch.k = problem.k();
  launch.a = a.view;
  launch.b = b.view;
  launch.c0 = c0.view;
  launch.c = {c.get(), launch.m, launch.n, launch.n, 1, launch.m * launch.n};
  launch.element_bytes = bytes;
  launch.path = outcome.plan.path;
  launch.range_a = range_a;
  launch.range_b = range_b;
  launch.overflow = problem.overflow == OverflowPolicy::kThrow ? &remote->overflow : nullptr;
  launch.stream = stream;
  DeviceBuffer workspace;
  if (kernel.workspace_bytes) {
    workspace = DeviceBuffer(kernel.workspace_bytes(launch), device, stream);
    launch.workspace = workspace.get();
  }
  lane->mark(kPlanned);
  if (kernel.prepare) kernel.prepare(launch);
  lane->mark(kPrepared);
  kernel.launch(launch);
  lane->mark(kComputed);
  MPMML_CUDA(cudaMemcpyAsync(&results->overflow, &remote->overflow, sizeof(results->overflow), cudaMemcpyDeviceToHost,
                             stream));
  lane->synchronize();
  throw_if_cancelled(problem);
  if (results->overflow != kNoOverflow) {
    outcome.overflow = static_cast<int64_t>(results->overflow);
    return outcome;
  }
  download(c.get(), problem.c, problem.batch, bytes, *lane);
  lane->mark(kDownloaded);
  lane->synchronize();
  outcome.timing.h2d = lane->elapsed(kStart, kUploaded);
  outcome.timing.analysis = lane->elapsed(kUploaded, kScanned) + lane->elapsed(kPlanned, kPrepared);
  outcome.timing.kernel = lane->elapsed(kPrepared, kComputed);
  outcome.timing.d2h = lane->elapsed(kComputed, kDownloaded);
  return outcome;
}

}  // namespace

std::unique_ptr<Backend> make_backend(std::string architectures) {
  return std::make_unique<CudaBackend>(std::move(architectures));
}

}  // namespace mpmml::cuda
