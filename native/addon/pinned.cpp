#include "addon/pinned.h"

#include <memory>

#include "addon/engine.h"
#if defined(MPMML_WITH_CUDA)
#include "cuda/runtime/memory.h"
#endif

namespace mpmml::addon {

Napi::Value pinned_int32_array(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto length = static_cast<size_t>(info[0].As<Napi::Number>().DoubleValue());
#if defined(MPMML_WITH_CUDA)
  if (length > 0 && engine().cuda_unusable(0).empty()) {
    const auto bytes = static_cast<int64_t>(length * sizeof(int32_t));
    std::unique_ptr<void, decltype(&cuda::free_pinned)> memory(cuda::allocate_pinned(bytes), cuda::free_pinned);
    const auto release = [](Napi::Env released, void* data, void* size) {
      cuda::free_pinned(data);
      Napi::MemoryManagement::AdjustExternalMemory(released, -static_cast<int64_t>(reinterpret_cast<intptr_t>(size)));
    };
    const Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(env, memory.get(), static_cast<size_t>(bytes), release,
                                                            reinterpret_cast<void*>(static_cast<intptr_t>(bytes)));
    // From here on the buffer owns the memory. If New had thrown, nobody would have called `release`.
    static_cast<void>(memory.release());
    // The collector must know how much memory this small object keeps.
    Napi::MemoryManagement::AdjustExternalMemory(env, bytes);
    return Napi::Int32Array::New(env, length, buffer, 0);
  }
#endif
  static_cast<void>(length);
  return env.Null();
}

}  // namespace mpmml::addon
