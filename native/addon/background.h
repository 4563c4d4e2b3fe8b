// Work off the event loop, on the library's own threads: Node's pool has four, which files, DNS and zlib share.
#pragma once
#include <napi.h>

#include <memory>
#include <optional>

#include "addon/failure.h"

namespace mpmml::addon {

/// Work that settles a promise when it ends.
class Work {
 public:
  explicit Work(Napi::Env env) : deferred_(Napi::Promise::Deferred::New(env)) {}
  virtual ~Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  /// Called once, on one of the library's threads. If it throws, the promise is rejected with the exception.
  virtual void run() = 0;

  /// Asks, from any thread, that run() return soon: nobody will see its result.
  virtual void give_up() {}

  /// What the promise is resolved with. Called on the JavaScript thread, as are the constructor and the destructor.
  virtual Napi::Value result(Napi::Env env) { return env.Undefined(); }

 private:
  friend class Background;
  Napi::Promise::Deferred deferred_;
  std::optional<Failure> failure_;
};

/// Prepares a JavaScript environment for run_in_background(). Work that still runs when the environment or the process
/// ends is given up, and its arrays are freed only after it has ended.
void open_background(Napi::Env env);

/// Keeps the event loop alive until `work` is done. Throws Error if the system refuses the first thread.
Napi::Promise run_in_background(Napi::Env env, std::unique_ptr<Work> work);

}  // namespace mpmml::addon
