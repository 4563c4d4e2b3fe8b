#include "cuda/runtime/stream_k.h"

#include "cuda/device/device.h"
#include "cuda/device/error.h"
#include "cuda/launch/function.h"
#include "cuda/plan/cost.h"

namespace mpmml::cuda {
namespace {

int64_t result_bytes(const Kernel& kernel, const StreamKSchedule& division) {
  return int64_t{division.slots()} * kernel.shape.tile_m * kernel.shape.tile_n * int64_t{sizeof(int32_t)};
}
int64_t arrived_bytes(const StreamKSchedule& division) { return division.tiles * int64_t{sizeof(unsigned)}; }

}  // namespace

StreamKSchedule division_of(const Kernel& kernel, const Launch& launch, int device) {
  if (!kernel.launch_divided || launch.is_structured) return {};
  return best_division(kernel.shape, tile_grid(kernel.shape, launch.m, launch.n, launch.k, launch.batch),
                       device_limits(device), resident_blocks(kernel, launch.path, device));
}

int64_t extra_workspace_bytes(const Kernel& kernel, const Launch& launch, const StreamKSchedule& division) {
  const int64_t bytes = ScratchArena::piece(scratch_bytes(kernel, launch));
  if (division.shares == 0) return bytes;
  return bytes + ScratchArena::piece(result_bytes(kernel, division)) + ScratchArena::piece(arrived_bytes(division));
}

StreamKLaunch::StreamKLaunch(const Kernel& kernel, Launch& launch, const StreamKSchedule& division, ScratchArena& room)
    : division_(division) {
  launch.scratch = room.take(scratch_bytes(kernel, launch));
  if (division_.shares == 0) return;
  memory_.results = room.take(result_bytes(kernel, division_));
  memory_.arrived = static_cast<unsigned*>(room.take(arrived_bytes(division_)));
  MPMML_CUDA(cudaMemsetAsync(memory_.arrived, 0, static_cast<size_t>(arrived_bytes(division_)), launch.stream));
}

void StreamKLaunch::launch(const Kernel& kernel, const Launch& launch) const {
  if (division_.shares == 0) return kernel.launch(launch);
  kernel.launch_divided(launch, division_, memory_);
}

}  // namespace mpmml::cuda
