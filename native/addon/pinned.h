// Where arrays in pinned memory come from.
#pragma once
#include "core/host/pinned_pool.h"

namespace mpmml::addon {

struct PinnedMemory {
  PinnedPool* pool;  ///< null if there is none
  bool (*is_usable)();
  /// Whether a device has computed a product. Until then nothing says that it can be used, and to find out takes long.
  bool (*has_computed)(int device);
};

/// From now on it comes from there; null: from where the build has it.
void replace_pinned(const PinnedMemory* by);

}  // namespace mpmml::addon
