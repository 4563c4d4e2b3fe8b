// The engine of this process, with the backends of the build.
#pragma once
#include "core/engine/execute.h"

namespace mpmml::addon {

/// Returns the engine of the build, which is created on first use. Engines are never destroyed: worker threads may
/// outlive every JavaScript environment.
Engine& engine_of_build();

/// Returns the current engine: engine_of_build() unless it has been replaced.
Engine& engine();
void replace_engine(Engine& by);

/// Looks up and caches the name of a device that has computed. lib shows the name in results and reads it on
/// JavaScript's thread, which must not wait for the driver.
void find_name(BackendKind backend, int device);

}  // namespace mpmml::addon
