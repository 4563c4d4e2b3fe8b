// Work off the event loop that settles a promise.
#pragma once
#include <napi.h>

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "addon/executor.h"
#include "addon/failure.h"

namespace mpmml::addon {

class Background;
class Device;

/// Work for an executor. It belongs to the environment that asked for it, and is constructed and destroyed on that
/// JavaScript thread.
class Work {
 public:
  /// If `cancel` isn't null, 1 in it asks that the work end soon, because nobody will see its result.
  explicit Work(std::atomic<int32_t>* cancel = nullptr) : cancel_(cancel) {}
  virtual ~Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  /// For executors. The first three are called on one thread of theirs.
  void try_start() noexcept;
  bool can_finish() noexcept;
  void try_finish() noexcept;
  /// Fails it before it has been started.
  void withdraw() noexcept;
  void give_up() noexcept;
  const std::atomic<int32_t>* cancel() const { return cancel_; }
  Background* owner() const { return owner_; }

 protected:
  /// Does the work, or starts it. If this or what follows throws, the promise is rejected with the exception.
  virtual void start() = 0;
  /// Whether finish() wouldn't wait.
  virtual bool is_done() { return true; }
  /// Called after start(), unless that threw.
  virtual void finish() {}
  /// Called last, and not on JavaScript's thread unless the work was withdrawn. Null if the work succeeded.
  virtual void conclude(const Failure*) noexcept {}
  /// Whether a failure says which product it is of.
  virtual bool is_group() const { return false; }
  /// What the promise is resolved with. Called on the JavaScript thread.
  virtual Napi::Value result(Napi::Env env) { return env.Undefined(); }

 private:
  friend class Background;
  void fail() noexcept;

  std::atomic<int32_t>* const cancel_;
  Background* owner_ = nullptr;
  std::list<std::unique_ptr<Work>>::iterator place_;
  std::optional<Napi::Promise::Deferred> deferred_;
  std::optional<Failure> failure_;
};

/// The work of one environment. What still runs when the environment or the process ends is given up, and its arrays are
/// freed only after it has ended.
class Background {
 public:
  /// Prepares a JavaScript environment.
  static void open(Napi::Env env);
  static Background& of(Napi::Env env);

  /// Keeps the event loop alive until `work` is done. Throws Error if the system refuses the first thread.
  Napi::Promise run(Executor& executor, std::unique_ptr<Work> work);

  /// Blocks until `work` is done. Throws what its promise would be rejected with.
  Napi::Value run_and_wait(Executor& executor, std::unique_ptr<Work> work);

  /// Fails work that `cancel` gives up and that hasn't been started.
  void withdraw(const std::atomic<int32_t>* cancel);

  /// Devices that have been opened by this environment, which closes them when it ends.
  void add_device(std::shared_ptr<Device> device);
  void remove_device(const Device& device);

  /// Tells the JavaScript thread that `work` is done, which may destroy it at once. Called by executors.
  void tell(Work* work);

 private:
  explicit Background(Napi::Env env);

  static void settle_finished(Napi::Env env, Napi::Function, Background* background, void*);
  using Signal = Napi::TypedThreadSafeFunction<Background, void, settle_finished>;

  static void end_before_process_does(Napi::Env env);
  Work& submit(Executor& executor, std::unique_ptr<Work> work);
  std::unique_ptr<Work> take(const Work& work);
  void wait_for_awaited();
  void close();

  Napi::Env env_;
  Signal signal_;
  std::list<std::unique_ptr<Work>> unsettled_;  ///< only used on the JavaScript thread, as devices_
  std::list<std::shared_ptr<Device>> devices_;
  std::mutex mutex_;
  std::vector<Work*> finished_;                ///< guarded by mutex_
  std::atomic<const Work*> awaited_{nullptr};  ///< what the JavaScript thread is blocked for
  std::condition_variable settled_;
};

/// On the threads for products on the host.
Napi::Promise run_in_background(Napi::Env env, std::unique_ptr<Work> work);

}  // namespace mpmml::addon
