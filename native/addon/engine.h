// The engine of this process: which backends the build has.
#pragma once
#include "core/engine/execute.h"

namespace mpmml::addon {

/// Made on first use. Engines are never destroyed: worker threads may outlive any JavaScript environment.
Engine& engine_of_build();

/// The same, unless another has taken its place.
Engine& engine();
void replace_engine(Engine& by);

}  // namespace mpmml::addon
