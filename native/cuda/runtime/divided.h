// Launches with tiles that are divided among blocks: see kernels/division.h.
#pragma once
#include "cuda/launch/kernel.h"
#include "cuda/runtime/memory.h"

namespace mpmml::cuda {

/// How the tiles of a launch are divided on a device; without shares if whole tiles take less time.
Division division_of(const Kernel& kernel, const Launch& launch, int device);

/// The room that a launch takes beside its operands: for the kernel, and for parts of tiles.
int64_t bytes_beside(const Kernel& kernel, const Launch& launch, const Division& division);

/// A launch with that room.
class Parts {
 public:
  /// Takes it, and sets launch.scratch.
  Parts(const Kernel& kernel, Launch& launch, const Division& division, Room& room);

  void launch(const Kernel& kernel, const Launch& launch) const;

 private:
  const Division division_;
  PartMemory memory_{};
};

}  // namespace mpmml::cuda
