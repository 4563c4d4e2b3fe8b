#include "addon/engine.h"

#include "cpu/backend.h"
#if defined(MPMML_WITH_CUDA)
#include "cuda/backend.h"
#endif

namespace mpmml::addon {

Engine& engine() {
  static Engine* const instance = [] {
#if defined(MPMML_WITH_CUDA)
    return new Engine(cpu::make_backend(), cuda::make_backend(MPMML_CUDA_ARCHITECTURES), "");
#else
    return new Engine(cpu::make_backend(), nullptr, MPMML_CUDA_STATUS);
#endif
  }();
  return *instance;
}

}  // namespace mpmml::addon
