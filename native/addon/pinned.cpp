// Arrays in pinned memory, which a GPU reads and writes directly: results, and arrays that users request.
#include "addon/pinned.h"

#include <atomic>
#include <memory>
#include <utility>

#include "addon/computation.h"
#include "addon/engine.h"
#include "generated/addon.h"
#if defined(MPMML_WITH_CUDA)
#include "cuda/device/device.h"
#include "cuda/runtime/memory.h"
#endif

namespace mpmml::addon {
namespace {

std::atomic<const PinnedMemory*> replacing_memory{nullptr};

/// Returns the pinned memory of this process, which outlives every environment.
const PinnedMemory& pinned_memory() {
  if (const PinnedMemory* const other = replacing_memory) return *other;
#if defined(MPMML_WITH_CUDA)
  static const auto& of_build = *new PinnedMemory{new PinnedPool({cuda::allocate_pinned, cuda::free_pinned}),
                                                  [] { return engine_of_build().gpu_unusable(0).empty(); },
                                                  [](int device) { return !cuda::known_device_name(device).empty(); }};
#else
  static constexpr PinnedMemory of_build{nullptr, [] { return false; }, [](int) { return false; }};
#endif
  return of_build;
}

/// Runs `body` on a thread of the pool, or on this one if the system refuses a thread. Freeing 8 GiB takes most of a
/// second and locking 8 GiB takes seconds, and JavaScript's thread must not wait.
template <class Body>
void run_on_new_thread(Napi::Env env, const std::weak_ptr<const void>& presence, Body body) {
  if (presence.expired()) return body();  // The environment has ended: nothing waits for this thread.
  try {
    Asked asked{nullptr, [] { return Place::kDevice; }};
    auto work = std::make_unique<Computation<Body>>(body, std::move(asked), Napi::ObjectReference());
    Background::of(env).run_detached(Executor::pool(), std::move(work));
  } catch (...) {
    body();
  }
}

/// A block of a pool.
struct Pinned {
  PinnedPool* pool = nullptr;
  void* memory = nullptr;
  int64_t bytes = 0;

  Pinned() = default;
  Pinned(PinnedPool* of, void* piece, int64_t size) : pool(of), memory(piece), bytes(size) {}
  Pinned(Pinned&& other) noexcept
      : pool(other.pool), memory(std::exchange(other.memory, nullptr)), bytes(other.bytes) {}
  ~Pinned() {
    if (give_back()) pool->free_surplus();
  }

  /// Returns whether blocks are to be freed.
  bool give_back() { return memory && pool->give_back(std::exchange(memory, nullptr)); }
  void detach() { pool->detach(std::exchange(memory, nullptr)); }
};

/// Allocates pinned memory. The result has no memory if CUDA can't be used.
Pinned allocate(int64_t bytes) {
  const PinnedMemory& memory = pinned_memory();
  PinnedPool* const from = memory.pool;
  if (bytes == 0 || !from || !memory.is_usable()) return {};
  return {from, from->take_zeros(bytes, 0), bytes};
}

/// State that is needed to free a buffer's memory after the buffer has been collected.
struct Owner {
  Pinned piece;
  std::weak_ptr<const void> presence;  ///< of the Background
  napi_ref buffer;                     ///< weak; null if the buffer can't be transferred to another thread
};

/// Returns whether the environment is ending. Node-API has no function for this, but then refuses calls that may run
/// JavaScript.
bool is_ending(Napi::Env env) {
  bool same;
  const napi_value number = Napi::Number::New(env, 0);
  return napi_strict_equals(env, number, number, &same) != napi_ok;
}

bool is_still_there(Napi::Env env, const Owner& owner) {
  napi_value buffer = nullptr;
  void* data = nullptr;
  size_t bytes = 0;
  return napi_get_reference_value(env, owner.buffer, &buffer) == napi_ok && buffer &&
         napi_get_arraybuffer_info(env, buffer, &data, &bytes) == napi_ok && data == owner.piece.memory;
}

/// Releases the memory of a buffer. Node calls this finalizer when the buffer is collected, and for the remaining
/// buffers when the environment ends.
void release(Napi::Env env, Owner* owned) {
  const std::unique_ptr<Owner> owner(owned);
  const bool ends = is_ending(env);
  // If the memory has been transferred to another thread, that thread may still use it, and its last use isn't
  // reported.
  if (ends && owner->buffer && !is_still_there(env, *owner)) return owner->piece.detach();
  if (owner->buffer) napi_delete_reference(env, owner->buffer);
  if (ends && !owner->presence.expired()) {
    // Products that are being cancelled may still write to the memory.
    return Background::of(env).keep_until_closed(std::make_shared<Pinned>(std::move(owner->piece)));
  }
  if (owner->piece.give_back())
    run_on_new_thread(env, owner->presence, [of = owner->piece.pool] { of->free_surplus(); });
}

/// Returns a buffer over the memory of `buffer` that postMessage() can transfer: the result of its transfer().
/// Node-API's own buffers can't be transferred. Node.js 20 has no transfer(), so `buffer` is returned.
Napi::Value transferable(Napi::Value buffer) {
  const Napi::Value transfer = buffer.As<Napi::Object>().Get("transfer");
  if (!transfer.IsFunction()) return buffer;
  const Napi::Value moved = transfer.As<Napi::Function>().Call(buffer, {});
  return moved.IsArrayBuffer() ? moved : buffer;
}

/// Returns an ArrayBuffer over the memory, or null if there is no memory or the runtime doesn't support external
/// buffers. V8 accounts the memory to the buffer.
Napi::Value to_value(Napi::Env env, Pinned&& pinned) {
  if (!pinned.memory) return env.Null();
  void* const memory = pinned.memory;
  const auto bytes = static_cast<size_t>(pinned.bytes);
  auto owner = std::make_unique<Owner>(Owner{std::move(pinned), Background::of(env).presence(), nullptr});
  napi_value made = nullptr;
  const auto finalize = [](napi_env of, void*, void* owned) { release(of, static_cast<Owner*>(owned)); };
  if (napi_create_external_arraybuffer(env, memory, bytes, finalize, owner.get(), &made) != napi_ok) return env.Null();
  // From here on the buffer owns it.
  Owner* const owned = owner.release();
  const Napi::Value buffer(env, made), moved = transferable(buffer);
  if (moved != buffer) napi_create_reference(env, moved, 0, &owned->buffer);
  return moved;
}

}  // namespace

Napi::Value pinned_buffer(const Napi::CallbackInfo& info, int64_t bytes) {
  return in_background(info, [bytes] { return allocate(bytes); }, {nullptr, [] { return Place::kDevice; }});
}

Napi::Value pinned_buffer_sync(const Napi::CallbackInfo& info, int64_t bytes) {
  return to_value(info.Env(), allocate(bytes));
}

Napi::Value result_buffer(const Napi::CallbackInfo& info, int64_t bytes, int device) {
  const PinnedMemory& memory = pinned_memory();
  PinnedPool* const from = memory.pool;
  const Background& background = Background::of(info.Env());
  if (!from || !memory.has_computed(device)) return info.Env().Null();
  // Memory that a worker has transferred is lost when the worker ends.
  if (!background.is_first() && from->has_lost_much()) return info.Env().Null();
  void* const piece = from->take(bytes);
  if (const auto growth = from->begin_growth()) {
    run_on_new_thread(info.Env(), background.presence(), [growth, device] { growth->run(device); });
  }
  if (!piece) return info.Env().Null();
  const Napi::Value buffer = to_value(info.Env(), Pinned(from, piece, bytes));
  if (buffer.IsNull()) from->set_limit(0);  // The runtime will refuse all later buffers, too.
  return buffer;
}

void limit_pinned(int64_t bytes) {
  if (PinnedPool* const limited = pinned_memory().pool) limited->set_limit(bytes);
}

NativePinnedUse pinned_use() {
  PinnedPool* const asked = pinned_memory().pool;
  const PinnedUse use = asked ? asked->use() : PinnedUse{};
  return {static_cast<double>(use.limit), static_cast<double>(use.held), static_cast<double>(use.used)};
}

void replace_pinned(const PinnedMemory* by) { replacing_memory = by; }

}  // namespace mpmml::addon
