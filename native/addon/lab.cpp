// The laboratory: times of kernels without transfers, microbenchmarks, occupancy, and peak benchmarks of the CPU. Long
// calls run off the event loop.
#include <algorithm>

#include "addon/computation.h"
#include "addon/engine.h"
#include "core/status.h"
#include "generated/addon.h"
#include "lab/cpu/peak_benchmarks.h"

namespace mpmml::addon {
namespace {

/// Returns a promise of the result of `compute`, which is rejected if the device can't be used.
template <class Compute>
Napi::Value on_device(const Napi::CallbackInfo& info, int device, Compute compute) {
  return in_background(info, [device, compute = std::move(compute)] {
    const std::string reason = engine().gpu_unusable(device);
    if (!reason.empty()) throw Error(ErrorCode::kNoCuda, "this needs a GPU, and none can be used: " + reason);
    return compute();
  });
}

}  // namespace

#if defined(MPMML_WITH_CUDA)

Napi::Value lab_measure(const Napi::CallbackInfo& info, const LabMeasureRequest& request) {
  if (request.minimum > request.maximum) malformed(info.Env(), "maximum");
  return on_device(info, request.device, [request] { return cuda::measure(request); });
}

std::vector<LabMicrobench> lab_microbenches() { return microbench::microbenchmarks(); }

Napi::Value lab_microbench(const Napi::CallbackInfo& info, const LabMicrobenchRequest& request) {
  return on_device(info, request.device, [request] { return microbench::run(request); });
}

std::vector<LabBandwidth> lab_bandwidths() { return microbench::bandwidths(); }

Napi::Value lab_bandwidth(const Napi::CallbackInfo& info, const LabBandwidthRequest& request) {
  return on_device(info, request.device, [request] { return microbench::run(request); });
}

Napi::Value lab_occupancy(const Napi::CallbackInfo& info, const LabOccupancyRequest& asked) {
  if (!asked.microbench) {
    if (!asked.variant) malformed(info.Env(), "variant");
    return on_device(info, asked.device, [asked] { return cuda::occupancy(*asked.variant, asked.device); });
  }
  return on_device(info, asked.device, [kernel = *asked.microbench, device = asked.device] {
    const auto& instance = microbench::find(kernel.selection);
    const int64_t shared_bytes = std::min(instance.shared_bytes(kernel.m, kernel.bsi, kernel.bsj), int64_t{1} << 30);
    return cuda::occupancy(instance.function, kernel.bsi * kernel.bsj, static_cast<int>(shared_bytes), device);
  });
}

Napi::Value lab_fault(const Napi::CallbackInfo& info, const LabFaultRequest& asked) {
  return on_device(info, asked.device, [device = asked.device] { cuda::fault(device); });
}

std::vector<LabPeak> lab_peaks() { return microbench::peaks(); }

#else

// If the build has no CUDA, no device is usable and the promise is rejected.
namespace {

template <class Request>
Napi::Value refuse(const Napi::CallbackInfo& info, const Request& asked) {
  return on_device(info, asked.device, [] {});
}

}  // namespace

Napi::Value lab_measure(const Napi::CallbackInfo& info, const LabMeasureRequest& asked) { return refuse(info, asked); }
Napi::Value lab_microbench(const Napi::CallbackInfo& info, const LabMicrobenchRequest& asked) {
  return refuse(info, asked);
}
Napi::Value lab_bandwidth(const Napi::CallbackInfo& info, const LabBandwidthRequest& asked) {
  return refuse(info, asked);
}
Napi::Value lab_occupancy(const Napi::CallbackInfo& info, const LabOccupancyRequest& asked) {
  return refuse(info, asked);
}
Napi::Value lab_fault(const Napi::CallbackInfo& info, const LabFaultRequest& asked) { return refuse(info, asked); }
std::vector<LabMicrobench> lab_microbenches() { return {}; }
std::vector<LabBandwidth> lab_bandwidths() { return {}; }
std::vector<LabPeak> lab_peaks() { return {}; }

#endif

Napi::Value cpu_ceiling(const Napi::CallbackInfo& info, const CpuCeilingRequest& request) {
  const cpu::PeakBenchmark& benchmark = cpu::find_peak_benchmark(request.isa);
  const cpu::PeakBenchmark::Steps& steps = cpu::find_steps(benchmark, request.steps);
  return in_background(info, [=, &benchmark, &steps] {
    return CpuCeilingSamples{benchmark.isa,
                             cpu::measure_ceiling(steps, request.threads, request.samples, request.milliseconds)};
  });
}

Napi::Value cpu_naive_loop(const Napi::CallbackInfo& info, const CpuNaiveLoopRequest& request) {
  const cpu::PeakBenchmark& benchmark = cpu::find_peak_benchmark(request.isa);
  return in_background(info, [=, &benchmark] {
    return CpuNaiveLoopSamples{
        benchmark.isa, cpu::measure_naive_loop(benchmark, request.m, request.n, request.k, request.repetitions)};
  });
}

}  // namespace mpmml::addon
