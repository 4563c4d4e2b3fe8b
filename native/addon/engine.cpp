#include "addon/engine.h"

#include <atomic>

#include "cpu/backend.h"
#if defined(MPMML_WITH_CUDA)
#include "cuda/backend.h"
#include "cuda/device/device.h"
#endif

namespace mpmml::addon {
namespace {

std::atomic<Engine*> replacing_engine{nullptr};

}  // namespace

Engine& engine_of_build() {
#if defined(MPMML_WITH_CUDA)
  static Engine& instance =
      *new Engine({cpu::make_backend(), cuda::make_backend(MPMML_CUDA_ARCHITECTURES), BackendKind::kCuda, ""});
#else
  static Engine& instance = *new Engine({cpu::make_backend(), nullptr, BackendKind::kCuda, MPMML_CUDA_STATUS});
#endif
  return instance;
}

Engine& engine() {
  Engine* const other = replacing_engine.load(std::memory_order_acquire);
  return other ? *other : engine_of_build();
}

void replace_engine(Engine& by) { replacing_engine.store(&by, std::memory_order_release); }

void find_name([[maybe_unused]] BackendKind backend, [[maybe_unused]] int device) {
#if defined(MPMML_WITH_CUDA)
  if (backend == BackendKind::kCuda) cuda::device_name(device);
#endif
}

}  // namespace mpmml::addon
