// Source of arrays in pinned memory.
#pragma once
#include "core/host/pinned_pool.h"

namespace mpmml::addon {

struct PinnedMemory {
  PinnedPool* pool;  ///< null without CUDA
  bool (*is_usable)();
  /// Returns whether a device has computed a product. Before, its usability is unknown, and a test takes long.
  bool (*has_computed)(int device);
};

/// Replaces the source of pinned memory. Null restores that of the build.
void replace_pinned(const PinnedMemory* by);

}  // namespace mpmml::addon
