// Launches with stream-K tiles (kernels/stream_k.h).
#pragma once
#include "cuda/launch/kernel.h"
#include "cuda/runtime/memory.h"

namespace mpmml::cuda {

/// Returns the stream-K schedule of a launch on a device; it has no shares if whole tiles are faster.
StreamKSchedule division_of(const Kernel& kernel, const Launch& launch, int device);

/// Returns the bytes that a launch needs in addition to its operands: kernel scratch and partial tiles.
int64_t extra_workspace_bytes(const Kernel& kernel, const Launch& launch, const StreamKSchedule& division);

/// A launch with its extra workspace.
class StreamKLaunch {
 public:
  /// Takes the workspace from `room`, and sets launch.scratch.
  StreamKLaunch(const Kernel& kernel, Launch& launch, const StreamKSchedule& division, ScratchArena& room);

  void launch(const Kernel& kernel, const Launch& launch) const;

 private:
  const StreamKSchedule division_;
  PartialTiles memory_{};
};

}  // namespace mpmml::cuda
