// Launches with tiles that are divided among blocks: see kernels/division.h.
#pragma once
#include "cuda/kernels/kernel.h"
#include "cuda/runtime/memory.h"

namespace mpmml::cuda {

/// How the tiles of a launch are divided on a device; without shares if whole tiles take less time.
Division division_of(const Kernel& kernel, const Launch& launch, int device);

/// Device memory for the parts of tiles.
int64_t part_bytes(const Kernel& kernel, const Division& division);

/// The parts of a launch's tiles. Their memory is given back in the order of the launch's stream.
class Parts {
 public:
  /// None.
  Parts() = default;
  /// Those that take least time.
  Parts(const Kernel& kernel, const Launch& launch, int device);

  void launch(const Kernel& kernel, const Launch& launch) const;

 private:
  Division division_{};
  DeviceBuffer results_, arrived_;
};

}  // namespace mpmml::cuda
