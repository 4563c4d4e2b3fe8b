#pragma once
#include <memory>
#include <string>

#include "core/session/backend.h"

namespace mpmml::cuda {

/// The CUDA backend. Makes no CUDA call yet, so that the addon also loads on machines without a driver.
/// `architectures` are those of the build, for messages.
std::unique_ptr<Backend> make_backend(std::string architectures);

}  // namespace mpmml::cuda
