// The engine of this process: which backends the build has.
#pragma once
#include "core/engine/execute.h"

namespace mpmml::addon {

/// Made on first use. Engines are never destroyed: worker threads may outlive any JavaScript environment.
Engine& engine_of_build();

/// The same, unless another has taken its place.
Engine& engine();
void replace_engine(Engine& by);

/// Finds out what a device that has computed is called: lib shows it in results, and asks for it on JavaScript's thread, which must
/// not wait for the driver.
void find_name(BackendKind backend, int device);

}  // namespace mpmml::addon
