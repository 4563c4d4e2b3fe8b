#include "lab/microbench/bandwidth.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "core/status.h"
#include "cuda/device/device.h"
#include "cuda/device/error.h"
#include "cuda/runtime/lane.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/memory_reservation.h"
#include "lab/kernels.h"
#include "lab/measure.h"
#include "lab/timing.h"

namespace mpmml::microbench {
namespace {

const Bandwidth& find(const std::string& name) {
  std::string names;
  for (const Bandwidth& bandwidth : bandwidths()) {
    if (name == bandwidth.name) return bandwidth;
    names += (names.empty() ? "" : ", ") + std::string(bandwidth.name);
  }
  throw Error(ErrorCode::kVariant, "there is no bandwidth " + name + ": there are " + names);
}

int64_t buffer_bytes(const Bandwidth& bandwidth, int device) {
  if (bandwidth.buffer == Buffer::kNone) return 0;
  int l2 = 0;
  MPMML_CUDA(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
  constexpr int64_t kLeast = int64_t{1} << 20;
  if (bandwidth.buffer == Buffer::kPartOfL2) return std::max(kLeast, int64_t{l2} / 4);
  const int64_t wanted = std::max(int64_t{512} << 20, int64_t{16} * l2);
  const int64_t most = cuda::device_capacity(device, 0) * 4 / 10;
  if (most < int64_t{4} * l2) {
    throw Error(ErrorCode::kOutOfMemory,
                "a buffer of four times the L2 cache doesn't fit the free memory of device " + std::to_string(device));
  }
  return std::min(wanted, most);
}

}  // namespace

BandwidthResult run(const BandwidthRequest& request) {
  const Bandwidth& bandwidth = find(request.name);
  const cuda::LaneHandle lane = cuda::take_lane(request.device);
  const int blocks = cuda::occupancy(bandwidth.function, kBandwidthThreads, 0, request.device).active_blocks;
  BandwidthResult result{};
  result.multiprocessors = cuda::device_limits(request.device).multiprocessors;
  result.buffer_bytes = buffer_bytes(bandwidth, request.device);
  const int64_t threads = int64_t{result.multiprocessors} * blocks * kBandwidthThreads;

  const cudaStream_t stream = lane->compute(0);
  const auto buffer = [&](int64_t bytes) { return cuda::DeviceBuffer(bytes, request.device, stream); };
  const cuda::DeviceBuffer source = buffer(result.buffer_bytes);
  const cuda::DeviceBuffer target = buffer(bandwidth.writes ? result.buffer_bytes : 0);
  const cuda::DeviceBuffer results = buffer(threads * int64_t{sizeof(uint32_t)});
  const cuda::DeviceBuffer clock = buffer(2 * sizeof(uint64_t));
  const cuda::StreamSyncGuard guard{*lane};
  MPMML_CUDA(cudaMemsetAsync(source.get(), 1, static_cast<size_t>(result.buffer_bytes), stream));

  BandwidthArguments arguments{source.get(),     target.get(),   result.buffer_bytes,
                               bandwidth.rounds, request.stride, static_cast<uint32_t*>(results.get())};
  result.bytes = bandwidth.bytes(arguments, threads);
  void* parameters[] = {&arguments};
  result.ms = cuda::timed(*lane, request.warmup, request.repetitions, [&] {
    MPMML_CUDA(cudaLaunchKernel(bandwidth.function, dim3(static_cast<unsigned>(threads / kBandwidthThreads)),
                                dim3(kBandwidthThreads), parameters, 0, stream));
  });
  cuda::probe_clock(static_cast<uint64_t*>(clock.get()), stream);
  result.clock_mhz = cuda::clock_mhz_of(*lane, static_cast<const uint64_t*>(clock.get()));
  return result;
}

}  // namespace mpmml::microbench
