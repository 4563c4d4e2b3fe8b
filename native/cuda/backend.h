#pragma once
#include <memory>
#include <string>

#include "core/session/backend.h"

namespace mpmml::cuda {

/// Creates the CUDA backend without any CUDA call, so that the addon loads on machines without a driver.
/// `architectures` are the build's architectures, for messages.
std::unique_ptr<Backend> make_backend(std::string architectures);

}  // namespace mpmml::cuda
