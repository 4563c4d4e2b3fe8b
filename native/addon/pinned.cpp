#include "addon/pinned.h"

#include <memory>
#include <utility>

#include "addon/background.h"
#include "addon/engine.h"
#if defined(MPMML_WITH_CUDA)
#include "cuda/runtime/memory.h"
#endif

namespace mpmml::addon {
namespace {

#if defined(MPMML_WITH_CUDA)

struct FreePinned {
  void operator()(void* memory) const { cuda::free_pinned(memory); }
};
using Pinned = std::unique_ptr<void, FreePinned>;

/// Null if CUDA can't be used.
Pinned allocate(int64_t bytes) {
  if (bytes == 0 || !engine().cuda_unusable(0).empty()) return nullptr;
  return Pinned(cuda::allocate_pinned(bytes));
}

/// Freeing 8 GiB takes most of a second, in which JavaScript's thread has other things to do.
class FreeWork : public Work {
 public:
  explicit FreeWork(Pinned memory) : memory_(std::move(memory)) {}
  Place place() noexcept override { return Place::kDevice; }

 protected:
  void start() override { memory_.reset(); }

 private:
  Pinned memory_;
};

/// What a buffer's memory needs when the buffer has been collected.
struct Owner {
  int64_t bytes;
  std::weak_ptr<const void> presence;  ///< of the Background
};

void release(Napi::Env env, void* data, Owner* owned) {
  const std::unique_ptr<Owner> owner(owned);
  Pinned memory(data);
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
Napi::Value buffer_over(Napi::Env env, Pinned memory, int64_t bytes) {
  if (!memory) return env.Null();
  auto owner = std::make_unique<Owner>(Owner{bytes, Background::of(env).presence()});
  napi_value buffer = nullptr;
  const auto finalize = [](napi_env of, void* data, void* owned) { release(of, data, static_cast<Owner*>(owned)); };
  if (napi_create_external_arraybuffer(env, memory.get(), static_cast<size_t>(bytes), finalize, owner.get(), &buffer) !=
      napi_ok) {
    return env.Null();
  }
  // From here on the buffer owns both.
  static_cast<void>(memory.release());
  static_cast<void>(owner.release());
  // The collector must know how much memory this small object keeps.
  Napi::MemoryManagement::AdjustExternalMemory(env, bytes);
  return Napi::Value(env, buffer);
}

#else

struct Pinned {};

Pinned allocate(int64_t /*bytes*/) { return {}; }

Napi::Value buffer_over(Napi::Env env, Pinned /*memory*/, int64_t /*bytes*/) { return env.Null(); }

#endif

class PinnedWork : public Work {
 public:
  explicit PinnedWork(int64_t bytes) : bytes_(bytes) {}
  Place place() noexcept override { return Place::kDevice; }

 protected:
  void start() override { memory_ = allocate(bytes_); }
  Napi::Value result(Napi::Env env) override { return buffer_over(env, std::move(memory_), bytes_); }

 private:
  const int64_t bytes_;
  Pinned memory_{};
};

int64_t bytes_in(const Napi::Value& value) { return value.As<Napi::Number>().Int64Value(); }

Napi::Value pinned_buffer(const Napi::CallbackInfo& info) {
  return run_in_background(info.Env(), std::make_unique<PinnedWork>(bytes_in(info[0])));
}

Napi::Value pinned_buffer_sync(const Napi::CallbackInfo& info) {
  const int64_t bytes = bytes_in(info[0]);
  return buffer_over(info.Env(), allocate(bytes), bytes);
}

}  // namespace

void export_pinned(Napi::Env env, Napi::Object exports) {
  exports.Set("pinnedBuffer", Napi::Function::New<guarded<pinned_buffer>>(env, "pinnedBuffer"));
  exports.Set("pinnedBufferSync", Napi::Function::New<guarded<pinned_buffer_sync>>(env, "pinnedBufferSync"));
}

}  // namespace mpmml::addon
