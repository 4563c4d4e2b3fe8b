#include <cuda_runtime_api.h>

#include "core/problem/layout.h"
#include "core/status.h"
#include "cuda/device/device.h"
#include "cuda/device/error.h"
#include "cuda/runtime/lane.h"
#include "cuda/runtime/memory.h"
#include "lab/measure.h"
#include "lab/microbench/machine.h"
#include "lab/microbench/microbench.h"
#include "lab/timing.h"

namespace mpmml::microbench {
namespace {

std::string described(const Instance& instance) {
  return std::to_string(instance.x) + "x" + std::to_string(instance.y) + " K=" + std::to_string(instance.k) + " " +
         instance.max;
}

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::kVariant, why); }

}  // namespace

const Instance& find(const Selection& selection) {
  std::string names, instances;
  for (const Microbenchmark& microbenchmark : microbenchmarks()) {
    names += std::string(names.empty() ? "" : ", ") + microbenchmark.name;
    if (selection.name != microbenchmark.name) continue;
    for (const Instance& instance : microbenchmark.instances) {
      const auto fits = [](int asked, int value) { return asked == 0 || asked == value; };
      if (fits(selection.x, instance.x) && fits(selection.y, instance.y) && fits(selection.k, instance.k) &&
          (selection.max.empty() || selection.max == instance.max)) {
        return instance;
      }
      instances += (instances.empty() ? "" : ", ") + described(instance);
    }
    refuse("microbenchmark " + selection.name + " isn't compiled for these X, Y, K and max; it is for " + instances);
  }
  refuse("there is no microbenchmark " + selection.name + ": there are " + names);
}

Result run(const Request& request) {
  const Instance& instance = find(request.selection);
  const cuda::LaneHandle lane = cuda::take_lane(request.device);
  const cuda::DeviceLimits limits = cuda::device_limits(request.device);
  const int64_t threads_per_block = request.bsi * request.bsj;
  const int64_t shared_bytes = instance.shared_bytes(request.m, request.bsi, request.bsj);
  if (shared_bytes > limits.shared_bytes_per_block) {
    refuse("M = " + std::to_string(request.m) + " columns of " + described(instance) + " need " +
           std::to_string(shared_bytes) + " bytes of shared memory per block, but device " +
           std::to_string(request.device) + " has " + std::to_string(limits.shared_bytes_per_block) +
           ": take a smaller M or block");
  }
  const cuda::Occupancy occupancy =
      cuda::occupancy(instance.function, threads_per_block, static_cast<int>(shared_bytes), request.device);
  if (occupancy.active_blocks == 0) {
    refuse("blocks of " + std::to_string(threads_per_block) + " threads don't fit: at " +
           std::to_string(occupancy.registers) + " registers per thread a block may have at most " +
           std::to_string(occupancy.max_threads) + ": take a smaller block");
  }
  const auto gsi = static_cast<unsigned>(request.gsi > 0 ? request.gsi : limits.multiprocessors);
  const auto gsj = static_cast<unsigned>(request.gsj > 0 ? request.gsj : request.gsi > 0 ? 1 : occupancy.active_blocks);

  Result result{};
  result.threads_per_block = threads_per_block;
  result.threads = threads_per_block * gsi * gsj;
  const cudaStream_t stream = lane->compute(0);
  const cuda::DeviceBuffer results(result.threads * int64_t{sizeof(uint32_t)}, request.device, stream);
  const cuda::DeviceBuffer clock(2 * sizeof(uint64_t), request.device, stream);
  const cuda::StreamSyncGuard guard{*lane};
  const int64_t n = round_up(request.n, instance.unrolled);
  // The packed forms take Const in each half.
  const uint32_t constant = static_cast<uint32_t>(request.constant) * (instance.lanes == 1 ? 1u : 0x10001u);
  Arguments arguments{static_cast<int32_t>(n),
                      static_cast<int32_t>(request.m),
                      constant,
                      1,
                      0,
                      7,
                      static_cast<uint32_t*>(results.get()),
                      static_cast<uint64_t*>(clock.get())};
  void* parameters[] = {&arguments};
  result.ms = cuda::timed(*lane, request.warmup, request.repetitions, [&] {
    MPMML_CUDA(cudaLaunchKernel(instance.function, dim3(gsj, gsi),
                                dim3(static_cast<unsigned>(request.bsj), static_cast<unsigned>(request.bsi)),
                                parameters, static_cast<size_t>(shared_bytes), stream));
  });
  result.clock_mhz = cuda::clock_mhz_of(*lane, static_cast<const uint64_t*>(clock.get()));
  result.multiprocessors = limits.multiprocessors;
  result.iterations = n * instance.k * (instance.shared_a || instance.shared_b ? request.m : 1);
  result.lanes = instance.lanes;
  result.steps_per_iteration = instance.steps();
  result.operations_per_iteration = 2 * (instance.steps() + instance.updates);
  result.instructions = instructions(instance, limits.capability);
  const Ceiling most = ceiling(result.instructions, result.operations_per_iteration, limits.capability);
  result.peak_operations_per_clock = most.operations_per_clock;
  result.peak_reason = most.reason;
  return result;
}

}  // namespace mpmml::microbench
