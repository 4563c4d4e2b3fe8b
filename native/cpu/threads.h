// The library's threads. The first product that is large enough for several makes them; they sleep while there is none.
#pragma once
#include <cstdint>
#include <memory>

namespace mpmml::cpu {

/// What `parallel_for` calls for each index. Refers to the body but doesn't own it.
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

/// How many threads a product may use, the calling one included: as the settings say (machine.h), or as many as the
/// processors that this process may use, by its affinity and the quota of its cgroup. Throws Error(kOption) if the
/// settings are wrong.
int thread_count();

/// Runs `task` for each index in [0, count), on the calling thread and on the library's. Returns when all are done. Any
/// number of threads may call it at once. Throws the first exception that a call threw; the rest is given up.
void parallel_for(int64_t count, Task task);

}  // namespace mpmml::cpu
