// Arrays in pinned memory, which a GPU can copy directly.
#include <memory>
#include <utility>

#include "addon/computation.h"
#include "addon/engine.h"
#include "generated/addon.h"
#if defined(MPMML_WITH_CUDA)
#include "cuda/runtime/memory.h"
#endif

namespace mpmml::addon {
namespace {

#if defined(MPMML_WITH_CUDA)

struct FreePinned {
  void operator()(void* memory) const { cuda::free_pinned(memory); }
};

struct Pinned {
  std::unique_ptr<void, FreePinned> memory;
  int64_t bytes;
};

/// Without memory if CUDA can't be used.
Pinned allocate(int64_t bytes) {
  if (bytes == 0 || !engine().cuda_unusable(0).empty()) return {nullptr, bytes};
  return {std::unique_ptr<void, FreePinned>(cuda::allocate_pinned(bytes)), bytes};
}

/// Freeing 8 GiB takes most of a second, in which JavaScript's thread has other things to do.
class FreeWork : public Work {
 public:
  explicit FreeWork(std::unique_ptr<void, FreePinned> memory) : memory_(std::move(memory)) {}
  Place place() noexcept override { return Place::kDevice; }

 protected:
  void start() override { memory_.reset(); }

 private:
  std::unique_ptr<void, FreePinned> memory_;
};

/// What a buffer's memory needs when the buffer has been collected.
struct Owner {
  int64_t bytes;
  std::weak_ptr<const void> presence;  ///< of the Background
};

void release_pinned(Napi::Env env, void* data, Owner* owned) {
  const std::unique_ptr<Owner> owner(owned);
  std::unique_ptr<void, FreePinned> memory(data);
  Napi::MemoryManagement::AdjustExternalMemory(env, -owner->bytes);
  // If the environment has ended, nothing waits for this thread.
  if (owner->presence.expired()) return;
  try {
    Background::of(env).run_unseen(Executor::pool(), std::make_unique<FreeWork>(std::move(memory)));
  } catch (...) {
    // The system refuses a thread: it has been freed on this one.
  }
}

/// An ArrayBuffer over the memory; null if there is none, or the runtime has no buffers over memory of others.
Napi::Value to_value(Napi::Env env, Pinned&& pinned) {
  if (!pinned.memory) return env.Null();
  auto owner = std::make_unique<Owner>(Owner{pinned.bytes, Background::of(env).presence()});
  napi_value buffer = nullptr;
  const auto finalize = [](napi_env of, void* data, void* owned) {
    release_pinned(of, data, static_cast<Owner*>(owned));
  };
  if (napi_create_external_arraybuffer(env, pinned.memory.get(), static_cast<size_t>(pinned.bytes), finalize,
                                       owner.get(), &buffer) != napi_ok) {
    return env.Null();
  }
  // From here on the buffer owns both.
  static_cast<void>(pinned.memory.release());
  static_cast<void>(owner.release());
  // The collector must know how much memory this small object keeps.
  Napi::MemoryManagement::AdjustExternalMemory(env, pinned.bytes);
  return Napi::Value(env, buffer);
}

#else

struct Pinned {};

Pinned allocate(int64_t /*bytes*/) { return {}; }

Napi::Value to_value(Napi::Env env, Pinned&& /*pinned*/) { return env.Null(); }

#endif

}  // namespace

Napi::Value pinned_buffer(const Napi::CallbackInfo& info, int64_t bytes) {
  return in_background(info, [bytes] { return allocate(bytes); }, {nullptr, [] { return Place::kDevice; }});
}

Napi::Value pinned_buffer_sync(const Napi::CallbackInfo& info, int64_t bytes) {
  return to_value(info.Env(), allocate(bytes));
}

}  // namespace mpmml::addon
