// What measurements share: repetitions between two events, and the clock rate.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "cuda/device/error.h"
#include "cuda/runtime/lane.h"

namespace mpmml::cuda {

/// Waits for a lane's streams before the buffers are freed that are declared above it.
struct StreamSyncGuard {
  Lane& lane;
  ~StreamSyncGuard() { lane.quiesce(); }
};

/// Times of `repetitions` calls of `queue`, in ms, each from one event in the lane's first stream to another. `warmup` calls come first,
/// whose times aren't returned.
template <class Queue>
std::vector<double> timed(Lane& lane, int warmup, int repetitions, Queue&& queue) {
  const cudaStream_t stream = lane.compute(0);
  Event &start = lane.event(), &end = lane.event();
  std::vector<double> times;
  for (int repetition = -warmup; repetition < repetitions; ++repetition) {
    start.record(stream);
    queue();
    end.record(stream);
    end.wait();
    if (repetition >= 0) times.push_back(end.since(start));
  }
  return times;
}

/// Clock rate in MHz, from clocks and nanoseconds in device memory that the lane's first stream has written. 0 if there are none.
inline double clock_mhz_of(Lane& lane, const uint64_t* ticks) {
  auto* const on_host = static_cast<uint64_t*>(lane.results());
  const cudaStream_t stream = lane.compute(0);
  MPMML_CUDA(cudaMemcpyAsync(on_host, ticks, 2 * sizeof(uint64_t), cudaMemcpyDeviceToHost, stream));
  MPMML_CUDA(cudaStreamSynchronize(stream));
  return on_host[1] > 0 ? 1e3 * static_cast<double>(on_host[0]) / static_cast<double>(on_host[1]) : 0;
}

}  // namespace mpmml::cuda
