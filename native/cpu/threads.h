// The library's threads: made once, on the first product that is worth it, and asleep when there is none.
#pragma once
#include <cstdint>
#include <memory>

namespace mpmml::cpu {

/// A call without ownership: what `parallel_for` runs for each index.
class Task {
 public:
  template <class Body>
  explicit Task(Body& body)
      : body_(&body), call_([](void* body, int64_t index) { (*static_cast<Body*>(body))(index); }) {}
  void operator()(int64_t index) const { call_(body_, index); }

 private:
  void* body_;
  void (*call_)(void*, int64_t);
};

/// How many threads a product may use, the calling one included: MPMML_NUM_THREADS, or the processors that this
/// process may run on, or fewer where a cgroup's quota allows no more. Throws Error where MPMML_NUM_THREADS is no
/// such number.
int thread_count();

/// Runs `task` for each index in [0, count), on the calling thread and on the library's; returns when all are done.
/// Any number of threads may call it at once. Throws the first exception that a call threw; the rest is given up.
void parallel_for(int64_t count, Task task);

}  // namespace mpmml::cpu
