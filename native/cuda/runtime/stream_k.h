// Launches with tiles that are divided among blocks: see kernels/division.h.
#pragma once
#include "cuda/launch/kernel.h"
#include "cuda/runtime/memory.h"

namespace mpmml::cuda {

/// How the tiles of a launch are divided on a device; without shares if whole tiles take less time.
StreamKSchedule division_of(const Kernel& kernel, const Launch& launch, int device);

/// The room that a launch takes beside its operands: for the kernel, and for parts of tiles.
int64_t extra_workspace_bytes(const Kernel& kernel, const Launch& launch, const StreamKSchedule& division);

/// A launch with that room.
class StreamKLaunch {
 public:
  /// Takes it, and sets launch.scratch.
  StreamKLaunch(const Kernel& kernel, Launch& launch, const StreamKSchedule& division, ScratchArena& room);

  void launch(const Kernel& kernel, const Launch& launch) const;

 private:
  const StreamKSchedule division_;
  PartialTiles memory_{};
};

}  // namespace mpmml::cuda
