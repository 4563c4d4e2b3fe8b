// The laboratory: times of kernels without transfers, microbenchmarks, occupancy. Each call that uses a GPU runs off the event
// loop.
#include <algorithm>

#include "addon/computation.h"
#include "addon/engine.h"
#include "core/status.h"
#include "generated/addon.h"
#if defined(MPMML_WITH_CUDA)
#include "lab/measure.h"
#include "lab/microbench/bandwidth.h"
#include "lab/microbench/machine.h"
#endif

namespace mpmml::addon {
namespace {

/// A promise of what `compute` gives if the device can be used.
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

namespace {

Properties<double> properties_of(const std::map<std::string, double>& map) { return {map.begin(), map.end()}; }

LabOccupancy described(const cuda::Occupancy& it) {
  return {it.registers,      it.shared_bytes, it.local_bytes,   it.threads,
          it.active_threads, it.active_warps, it.active_blocks, it.percent};
}

}  // namespace

Napi::Value lab_measure(const Napi::CallbackInfo& info, const LabMeasureRequest& asked) {
  if (asked.minimum > asked.maximum) malformed(info.Env(), "maximum");
  const cuda::MeasureRequest request{asked.variant,       asked.m,      asked.n,      asked.k,       asked.batch,
                                     asked.repetitions,   asked.warmup, asked.device, asked.minimum, asked.maximum,
                                     asked.zero_fraction, asked.seed};
  return on_device(info, request.device, [request] {
    const cuda::Measurement it = cuda::measure(request);
    const char* const path = kRangePathNames[static_cast<int>(it.path)];
    return LabMeasurement{it.kernel, it.prepare, it.analysis, path, it.operand_sets, it.clock_mhz};
  });
}

std::vector<LabMicrobench> lab_microbenches() {
  std::vector<LabMicrobench> rows;
  for (const microbench::Microbenchmark& it : microbench::microbenchmarks()) {
    LabMicrobench row{it.name, it.summary, {}, {"bsi", "bsj", "gsi", "gsj", "n", "constant"}};
    bool in_shared = false;
    for (const microbench::Instance& instance : it.instances) {
      row.instances.push_back({instance.x, instance.y, instance.k, instance.max});
      in_shared = in_shared || instance.shared_a || instance.shared_b;
    }
    if (in_shared) row.parameters.push_back("m");
    rows.push_back(std::move(row));
  }
  return rows;
}

Napi::Value lab_microbench(const Napi::CallbackInfo& info, const LabMicrobenchRequest& asked) {
  const microbench::Request request{{asked.name, asked.x, asked.y, asked.k, asked.max},
                                    asked.m,
                                    asked.bsi,
                                    asked.bsj,
                                    asked.gsi,
                                    asked.gsj,
                                    asked.n,
                                    asked.constant,
                                    asked.repetitions,
                                    asked.warmup,
                                    asked.device};
  return on_device(info, request.device, [request] {
    const microbench::Result it = microbench::run(request);
    const auto iterations = static_cast<double>(it.iterations);
    return LabMicrobenchResult{it.ms,
                               it.clock_mhz,
                               it.multiprocessors,
                               static_cast<double>(it.threads_per_block),
                               static_cast<double>(it.threads),
                               iterations,
                               it.lanes,
                               it.steps_per_iteration,
                               it.operations_per_iteration,
                               it.operations_per_iteration * iterations,
                               properties_of(it.instructions),
                               it.peak_operations_per_clock,
                               it.peak_reason};
  });
}

std::vector<LabBandwidth> lab_bandwidths() {
  std::vector<LabBandwidth> rows;
  for (const microbench::Bandwidth& it : microbench::bandwidths()) rows.push_back({it.name, it.summary});
  return rows;
}

Napi::Value lab_bandwidth(const Napi::CallbackInfo& info, const LabBandwidthRequest& asked) {
  const microbench::BandwidthRequest request{asked.name, asked.stride, asked.repetitions, asked.warmup, asked.device};
  return on_device(info, request.device, [request] {
    const microbench::BandwidthResult it = microbench::run(request);
    return LabBandwidthResult{it.ms, static_cast<double>(it.bytes), static_cast<double>(it.buffer_bytes), it.clock_mhz,
                              it.multiprocessors};
  });
}

Napi::Value lab_occupancy(const Napi::CallbackInfo& info, const LabOccupancyRequest& asked) {
  if (!asked.microbench) {
    if (!asked.variant) malformed(info.Env(), "variant");
    return on_device(info, asked.device, [asked] { return described(cuda::occupancy(*asked.variant, asked.device)); });
  }
  return on_device(info, asked.device, [kernel = *asked.microbench, device = asked.device] {
    const auto& instance = microbench::find({kernel.name, kernel.x, kernel.y, kernel.k, kernel.max});
    const int64_t shared_bytes = std::min(instance.shared_bytes(kernel.m, kernel.bsi, kernel.bsj), int64_t{1} << 30);
    return described(
        cuda::occupancy(instance.function, kernel.bsi * kernel.bsj, static_cast<int>(shared_bytes), device));
  });
}

Napi::Value lab_fault(const Napi::CallbackInfo& info, const LabFaultRequest& asked) {
  return on_device(info, asked.device, [device = asked.device] { cuda::fault(device); });
}

std::vector<LabPeak> lab_peaks() {
  std::vector<LabPeak> rows;
  for (const microbench::Peak& it : microbench::peaks()) {
    const std::string capability = std::to_string(it.capability / 10) + "." + std::to_string(it.capability % 10);
    rows.push_back(
        {capability, it.add, it.minmax, it.multiply_add, it.fused, it.packed, it.issue, it.cores, it.tensor});
  }
  return rows;
}

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

}  // namespace mpmml::addon
