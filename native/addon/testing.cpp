// Test hooks: replacement of the build's backends, and fault injection.
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "addon/engine.h"
#include "addon/pinned.h"
#include "core/host/fault_injection.h"
#include "core/session/packed_bytes.h"
#include "core/session/readers.h"
#include "core/status.h"
#include "generated/addon.h"
#include "testing/altered.h"

namespace mpmml::addon {
namespace {

/// Alterations of the build's backends.
struct Wrapped {
  int devices = 0;  ///< number of fake devices; 0: none
  Alteration processor;
};

/// Changes the alterations and replaces the engine. Engines are never destroyed, because they may still compute.
void wrap(void (*change)(Wrapped& wrapped, int64_t to), int64_t to) {
  static std::mutex mutex;
  static Wrapped wrapped;
  static auto& made = *new std::map<std::tuple<int, int64_t, int64_t>, Engine*>;
  const std::lock_guard<std::mutex> lock(mutex);
  change(wrapped, to);
  Engine& of_build = engine_of_build();
  const Alteration& alteration = wrapped.processor;
  const bool is_altered = alteration.delay.count() > 0 || alteration.block_bytes > 0;
  if (wrapped.devices == 0 && !is_altered) return replace_engine(of_build);
  Engine*& other = made[{wrapped.devices, alteration.delay.count(), alteration.block_bytes}];
  if (!other) {
    Backends backends = of_build.backends();
    if (is_altered) backends.processor = altered(backends.processor, alteration);
    if (wrapped.devices > 0) {
      backends.without_gpu = of_build.gpu_unusable(0);
      const auto& one = backends.without_gpu.empty() ? backends.gpu : backends.processor;
      Alteration devices;
      devices.devices = wrapped.devices;
      backends.gpu = altered(one, devices);
    }
    other = new Engine(std::move(backends));
  }
  replace_engine(*other);
}

}  // namespace

void fail_allocation(int64_t nth, int64_t count) { failing_allocations.set(nth, count); }

void fail_thread(int64_t nth, int64_t count) { failing_threads.set(nth, count); }

void fail_driver(int64_t nth, int64_t count) { failing_drivers.set(nth, count); }

double packed_bytes() { return static_cast<double>(mpmml::packed_bytes.load()); }

double remembered_readers() { return static_cast<double>(Readers::remembered()); }

void delay_work(double milliseconds) {
  wrap([](Wrapped& wrapped, int64_t to) { wrapped.processor.delay = std::chrono::microseconds(to); },
       static_cast<int64_t>(milliseconds * 1000));
}

void divide_products(double bytes) {
  wrap([](Wrapped& wrapped, int64_t to) { wrapped.processor.block_bytes = to; }, static_cast<int64_t>(bytes));
}

void pretend_devices(int count) {
  wrap([](Wrapped& wrapped, int64_t to) { wrapped.devices = static_cast<int>(to); }, count);
}

void pretend_pinned(bool flag) {
  const auto allocate = [](int64_t bytes, int) {
    void* const block = std::malloc(static_cast<size_t>(bytes));
    if (!block) throw Error(ErrorCode::kOutOfMemory, "there is no more memory");
    return block;
  };
  const auto free = [](void* block, int64_t) { std::free(block); };
  static const auto& ordinary =
      *new PinnedMemory{new PinnedPool({allocate, free}), [] { return true; }, [](int) { return true; }};
  replace_pinned(flag ? &ordinary : nullptr);
}

}  // namespace mpmml::addon
