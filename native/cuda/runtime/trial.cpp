#include "cuda/runtime/trial.h"

#include "cuda/device/error.h"
#include "cuda/runtime/memory.h"

namespace mpmml::cuda {
namespace {

class Stream {
 public:
  Stream() { MPMML_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace

void try_product(const KernelVariant& row, const Trial& trial, int device) {
  MPMML_CUDA(cudaSetDevice(device));
  const Stream stream;
  const Kernel& kernel = *row.kernel;
  const int64_t element = element_bytes(row.variant.dtype);
  const auto copied = [&](const void* elements, int64_t count) {
    DeviceBuffer buffer(count * element, device, stream);
    MPMML_CUDA(cudaMemcpyAsync(buffer.get(), elements, count * element, cudaMemcpyHostToDevice, stream));
    return buffer;
  };
  const DeviceBuffer a = copied(trial.a, trial.m * trial.k), b = copied(trial.b, trial.n * trial.k);
  const DeviceBuffer c(trial.m * trial.n * element, device, stream);
  Problem problem;
  problem.operation.semiring = row.variant.semiring;
  problem.operation.dtype = row.variant.dtype;
  problem.a = row_major<const void*>(a.get(), trial.m, trial.k);
  problem.b = row_major<const void*>(b.get(), trial.k, trial.n);
  problem.b.row_stride = 1;
  problem.b.col_stride = trial.k;
  problem.c = row_major<void*>(c.get(), trial.m, trial.n);
  Launch launch = launch_of(problem, {&row.variant, kernel.paths.cheapest()});
  launch.c = problem.c;
  launch.range_a = trial.range_a;
  launch.range_b = trial.range_b;
  launch.stream = stream;
  const DeviceBuffer packed_a(kernel.packed_bytes(launch, Side::kA), device, stream);
  const DeviceBuffer packed_b(kernel.packed_bytes(launch, Side::kB), device, stream);
  launch.packed_a = packed_a.get();
  launch.packed_b = packed_b.get();
  kernel.pack(launch, Side::kA);
  kernel.pack(launch, Side::kB);
  kernel.launch(launch);
  MPMML_CUDA(cudaMemcpyAsync(trial.c, c.get(), trial.m * trial.n * element, cudaMemcpyDeviceToHost, stream));
  MPMML_CUDA(cudaStreamSynchronize(stream));
}

const std::string& OncePerDevice::operator()(int device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = known_.find(device);
  if (found != known_.end()) return found->second;
  return known_.emplace(device, check_(device)).first->second;
}

}  // namespace mpmml::cuda
