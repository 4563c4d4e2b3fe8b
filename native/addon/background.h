// Asynchronous work that settles promises.
#pragma once
#include <napi.h>

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "addon/executor.h"
#include "addon/guarded.h"
#include "addon/task.h"

namespace mpmml::addon {

class Device;

/// A task that settles a promise. It belongs to the environment of the call, and is constructed and destroyed on that
/// environment's JavaScript thread.
class Work : public Task {
 public:
  using Task::Task;

  /// Returns whether the work takes less time than waking a thread, and may run on any thread.
  virtual bool is_brief() const { return false; }
  /// Returns whether another thread and a device take less time for the work than waking the JavaScript thread
  /// afterwards.
  virtual bool is_short() const { return false; }
  /// Returns whether any thread may do the work, one at a time.
  virtual bool runs_anywhere() const { return false; }

 protected:
  /// Returns the value that the promise is resolved with. Called on the JavaScript thread.
  virtual Napi::Value result(Napi::Env env) { return env.Undefined(); }

 private:
  friend class Background;

  std::list<std::unique_ptr<Work>>::iterator place_;
  std::optional<Napi::Promise::Deferred> deferred_;
};

/// The work of one environment. When the environment or the process ends, running work is cancelled, and its arrays are
/// freed only after it has ended.
class Background final : public Client {
 public:
  /// Prepares a JavaScript environment.
  static void open(Napi::Env env);
  static Background& of(Napi::Env env);

  /// Keeps the event loop alive until `work` is done. Throws Error if the system refuses the first thread.
  Napi::Promise run(Executor& executor, std::unique_ptr<Work> work);

  /// Like run(), but without a promise: the outcome isn't reported.
  void run_detached(Executor& executor, std::unique_ptr<Work> work);

  /// Blocks until `work` is done. Throws what its promise would be rejected with.
  Napi::Value run_and_wait(Executor& executor, std::unique_ptr<Work> work);

  /// Fails work that `cancel` cancels and that hasn't been started.
  void withdraw(const std::atomic<int32_t>* cancel);

  /// Registers a device that this environment has opened. The environment closes its devices when it ends.
  void add_device(std::shared_ptr<Device> device);
  void remove_device(const Device& device);

  void tell(Task* task) override;

  /// Retains an object that running work may use until the work has ended. Called while the environment ends.
  void keep_until_closed(std::shared_ptr<void> used) { leaving_.push_back(std::move(used)); }

  /// Returns whether the environment was the first to load the addon, and so isn't a worker's.
  bool is_first() const { return is_first_; }

  /// Returns a pointer that expires when the environment accepts no more work.
  std::weak_ptr<const void> presence() const { return presence_; }

 private:
  explicit Background(Napi::Env env);

  static void settle_finished(Napi::Env env, Napi::Function, Background* background, void*);
  using Signal = Napi::TypedThreadSafeFunction<Background, void, settle_finished>;

  static void end_before_process_does(Napi::Env env);
  Work& adopt(std::unique_ptr<Work> work);
  Work& submit(Executor& executor, std::unique_ptr<Work> work);
  Work& submit_awaited(Executor& executor, std::unique_ptr<Work> work);
  std::unique_ptr<Work> take(const Work& work);
  void settle(Work& work);
  static void reject(Work& work, const Napi::Error& error);
  bool run_and_poll(Executor& executor, std::unique_ptr<Work>& work);
  void wait_for_awaited();
  void close();

  Napi::Env env_;
  const bool is_first_;
  Signal signal_;
  std::shared_ptr<const void> presence_ = std::make_shared<int>();
  std::list<std::unique_ptr<Work>> unsettled_;  ///< only used on the JavaScript thread, as devices_
  std::list<std::shared_ptr<Device>> devices_;
  std::vector<std::shared_ptr<void>> leaving_;
  int done_at_once_ = 0;  ///< works since the event loop last turned
  std::mutex mutex_;
  std::vector<Task*> finished_;                ///< guarded by mutex_
  std::atomic<const Task*> awaited_{nullptr};  ///< task that the JavaScript thread is blocked for
  std::condition_variable settled_;
};

}  // namespace mpmml::addon
