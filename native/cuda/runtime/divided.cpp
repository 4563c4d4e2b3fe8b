#include "cuda/runtime/divided.h"

#include "cuda/plan/cost.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/function.h"

namespace mpmml::cuda {
namespace {

int64_t result_bytes(const Kernel& kernel, const Division& division) {
  return int64_t{division.slots()} * kernel.shape.tile_m * kernel.shape.tile_n * int64_t{sizeof(int32_t)};
}
int64_t arrived_bytes(const Division& division) { return division.tiles * int64_t{sizeof(unsigned)}; }

}  // namespace

Division division_of(const Kernel& kernel, const Launch& launch, int device) {
  if (!kernel.launch_divided || launch.is_structured) return {};
  return best_division(kernel.shape, tile_grid(kernel.shape, launch.m, launch.n, launch.k, launch.batch),
                       device_limits(device), resident_blocks(kernel, launch.path, device));
}

int64_t part_bytes(const Kernel& kernel, const Division& division) {
  return division.shares > 0 ? result_bytes(kernel, division) + arrived_bytes(division) : 0;
}

Parts::Parts(const Kernel& kernel, const Launch& launch, int device) : division_(division_of(kernel, launch, device)) {
  if (division_.shares == 0) return;
  results_ = DeviceBuffer(result_bytes(kernel, division_), device, launch.stream);
  arrived_ = DeviceBuffer(arrived_bytes(division_), device, launch.stream);
  MPMML_CUDA(cudaMemsetAsync(arrived_.get(), 0, static_cast<size_t>(arrived_bytes(division_)), launch.stream));
}

void Parts::launch(const Kernel& kernel, const Launch& launch) const {
  if (division_.shares == 0) return kernel.launch(launch);
  kernel.launch_divided(launch, division_, {results_.get(), static_cast<unsigned*>(arrived_.get())});
}

}  // namespace mpmml::cuda
