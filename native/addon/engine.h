// The engine of this process: which backends the build has.
#pragma once
#include "core/engine/execute.h"

namespace mpmml::addon {

/// Made on first use and never destroyed: worker threads may outlive any JavaScript environment.
Engine& engine();

}  // namespace mpmml::addon
