// Work off the event loop, on the library's own threads: Node's pool has four, which files, DNS and zlib share.
#pragma once
#include <napi.h>

#include <memory>
#include <optional>

#include "addon/failure.h"

namespace mpmml::addon {

/// Work whose end settles a promise.
class Work {
 public:
  explicit Work(Napi::Env env) : deferred_(Napi::Promise::Deferred::New(env)) {}
  virtual ~Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  /// Called once, on one of the library's threads; what it throws the promise is rejected with.
  virtual void run() = 0;

  /// Asks, from any thread, that run() return soon: nobody will see what becomes of it.
  virtual void give_up() {}

  /// What the promise is resolved with; called on the JavaScript thread, as the constructor and the destructor are.
  virtual Napi::Value result(Napi::Env env) { return env.Undefined(); }

 private:
  friend class Background;
  Napi::Promise::Deferred deferred_;
  std::optional<Failure> failure_;
};

/// Prepares a JavaScript environment for run_in_background(). What still runs when the environment ends is given up,
/// and waited for before its arrays go.
void open_background(Napi::Env env);

/// Keeps the event loop alive until `work` is done. Throws Error where the system refuses the first thread.
Napi::Promise run_in_background(Napi::Env env, std::unique_ptr<Work> work);

}  // namespace mpmml::addon
