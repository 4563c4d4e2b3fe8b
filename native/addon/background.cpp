#include "addon/background.h"

#include <chrono>
#include <string>

#include "addon/device.h"
#include "core/status.h"

namespace mpmml::addon {

namespace {

/// Maximum number of works in a row that are done on JavaScript's thread. The next one goes to its executor, so that
/// the event loop turns in a program that only awaits brief works.
constexpr int kMaxAtOnce = 64;

std::atomic<bool> has_been_opened{false};

/// Runs a whole work on JavaScript's thread.
void run_inline(Work& work) {
  work.try_start();
  work.can_finish();
  work.try_finish();
}

}  // namespace

Background::Background(Napi::Env env)
    : env_(env), is_first_(!has_been_opened.exchange(true)), signal_(Signal::New(env, "mpmml", 0, 1, this)) {
  signal_.Unref(env);
  // Registered after the signal, because hooks run in the reverse order: no thread may use a closed signal.
  env.AddCleanupHook([this] { close(); });
}

void Background::open(Napi::Env env) {
  env.SetInstanceData(new Background(env));
  end_before_process_does(env);
}

Background& Background::of(Napi::Env env) { return *env.GetInstanceData<Background>(); }

Work& Background::adopt(std::unique_ptr<Work> work) {
  work->set_client(*this);
  unsettled_.push_back(std::move(work));
  Work& adopted = *unsettled_.back();
  adopted.place_ = std::prev(unsettled_.end());
  if (unsettled_.size() == 1) signal_.Ref(env_);
  return adopted;
}

Work& Background::submit(Executor& executor, std::unique_ptr<Work> work) {
  Work& submitted = adopt(std::move(work));
  try {
    executor.submit(&submitted);
  } catch (...) {
    take(submitted);
    throw;
  }
  return submitted;
}

/// Submits a work whose completion tell() reports through awaited_ instead of the signal.
Work& Background::submit_awaited(Executor& executor, std::unique_ptr<Work> work) {
  awaited_.store(work.get(), std::memory_order_relaxed);
  try {
    return submit(executor, std::move(work));
  } catch (...) {
    awaited_.store(nullptr, std::memory_order_relaxed);
    throw;
  }
}

std::unique_ptr<Work> Background::take(const Work& work) {
  std::unique_ptr<Work> taken = std::move(*work.place_);
  unsettled_.erase(taken->place_);
  if (unsettled_.empty()) signal_.Unref(env_);
  return taken;
}

Napi::Promise Background::run(Executor& executor, std::unique_ptr<Work> work) {
  work->deferred_.emplace(Napi::Promise::Deferred::New(env_));
  const Napi::Promise promise = work->deferred_->Promise();
  if (work->is_brief() && done_at_once_ < kMaxAtOnce && executor.is_idle()) {
    ++done_at_once_;
    run_inline(*work);
    if (work->failure()) {
      // Settles the failed work in a later turn: calls that JavaScript makes before it can know of the failure depend
      // on the work.
      tell(&adopt(std::move(work)));
    } else {
      settle(*work);
    }
  } else if (!run_and_poll(executor, work)) {
    done_at_once_ = 0;
    submit(executor, std::move(work));
  }
  return promise;
}

/// Submits a short work to an idle executor, polls for its completion for at most kMoment, and settles it. To be woken
/// takes longer: about 15 µs (host of an H200). Returns whether the work has been submitted.
bool Background::run_and_poll(Executor& executor, std::unique_ptr<Work>& work) {
  constexpr int kTurns = 2;  // weight in done_at_once_
  constexpr std::chrono::microseconds kMoment{60};
  if (done_at_once_ >= kMaxAtOnce || !work->is_short() || !executor.is_idle()) return false;
  done_at_once_ += kTurns;
  Work* const submitted = &submit_awaited(executor, std::move(work));
  const auto until = std::chrono::steady_clock::now() + kMoment;
  while (awaited_.load(std::memory_order_acquire) && std::chrono::steady_clock::now() < until) {
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (awaited_.exchange(nullptr)) return true;  // The signal will report the completion.
  }
  if (submitted->failure()) {
    // Settles the failed work in a later turn, because earlier calls may depend on it.
    tell(submitted);
  } else {
    settle(*take(*submitted));
  }
  return true;
}

void Background::run_detached(Executor& executor, std::unique_ptr<Work> work) { submit(executor, std::move(work)); }

Napi::Value Background::run_and_wait(Executor& executor, std::unique_ptr<Work> work) {
  if (work->runs_anywhere() && executor.is_idle()) {
    run_inline(*work);
    if (work->failure()) throw to_javascript(env_, *work->failure());
    return work->result(env_);
  }
  Work* const submitted = &submit_awaited(executor, std::move(work));
  wait_for_awaited();
  const std::unique_ptr<Work> done = take(*submitted);
  if (done->failure()) throw to_javascript(env_, *done->failure());
  return done->result(env_);
}

/// Waits for the awaited work like an executor's thread for a device: spins, and then sleeps.
void Background::wait_for_awaited() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
  while (std::chrono::steady_clock::now() < until) {
    if (!awaited_.load(std::memory_order_acquire)) return;
  }
  std::unique_lock<std::mutex> lock(mutex_);
  settled_.wait(lock, [&] { return !awaited_.load(std::memory_order_acquire); });
}

void Background::withdraw(const std::atomic<int32_t>* cancel) {
  Executor::pool().withdraw(cancel);
  for (const auto& device : devices_) device->executor().withdraw(cancel);
}

void Background::add_device(std::shared_ptr<Device> device) { devices_.push_back(std::move(device)); }

void Background::remove_device(const Device& device) {
  devices_.remove_if([&](const auto& it) { return it.get() == &device; });
}

void Background::tell(Task* task) {
  bool signals;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (awaited_.load(std::memory_order_relaxed) == task) {
      awaited_.store(nullptr, std::memory_order_release);
      settled_.notify_one();
      return;
    }
    signals = finished_.empty();
    finished_.push_back(task);
  }
  if (signals) signal_.NonBlockingCall();
}

void Background::settle(Work& work) {
  try {
    if (!work.failure()) {
      const Napi::Value result = work.result(env_);
      if (work.deferred_) work.deferred_->Resolve(result);
    } else if (work.deferred_) {
      work.deferred_->Reject(to_javascript(env_, *work.failure()).Value());
    }
  } catch (const Napi::Error& error) {
    reject(work, error);
  }
}

/// Rejects the promise of a task whose result can't be created, for lack of memory or because the environment has been
/// terminated.
void Background::reject(Work& work, const Napi::Error& error) {
  try {
    if (work.deferred_) work.deferred_->Reject(error.Value());
  } catch (const Napi::Error&) {
    // The environment can't receive the error.
  }
}

void Background::settle_finished(Napi::Env env, Napi::Function, Background* background, void*) {
  if (static_cast<napi_env>(env) == nullptr) return;  // The environment is ending, and close() has been called.
  std::vector<Task*> finished;
  {
    std::lock_guard<std::mutex> lock(background->mutex_);
    finished.swap(background->finished_);
  }
  background->done_at_once_ = 0;
  for (const Task* done : finished) {
    const Napi::HandleScope scope(env);
    const std::unique_ptr<Work> work = background->take(static_cast<const Work&>(*done));
    background->settle(*work);
  }
}

void Background::close() {
  presence_.reset();
  Executor& pool = Executor::pool();
  pool.abandon(this);
  for (const auto& device : devices_) {
    device->executor().abandon(this);
    device->shut();
  }
  pool.wait_for(this);
  for (const auto& device : devices_) device->executor().wait_for(this);
  // From now on Node calls settle_finished() without an environment, and Bun with one.
  finished_.clear();
  unsettled_.clear();
  leaving_.clear();
  // The threads of the devices are idle and get no more work.
  for (const auto& device : devices_) device->close();
  devices_.clear();
}

/// Work has to end before exit() begins. process.exit() runs no cleanup hooks. exit() calls its atexit() handlers in
/// reverse order of registration, and CUDA registers its teardown when it is first used. So a handler that was
/// registered before CUDA's first use (for a product on the CPU) would run after CUDA's teardown, and threads inside
/// CUDA would crash the process. Registering again after CUDA's first use isn't enough, because the first use takes
/// hundreds of milliseconds, during which the process may end. JavaScript's 'exit' event is emitted on this thread
/// before exit() is called, and so before all these handlers.
void Background::end_before_process_does(Napi::Env env) {
  const Napi::Value process = env.Global().Get("process");
  if (!process.IsObject()) return;
  const Napi::Value once = process.As<Napi::Object>().Get("once");
  if (!once.IsFunction()) return;
  const auto end = [](const Napi::CallbackInfo& info) { Executor::detach_at_exit(&of(info.Env())); };
  once.As<Napi::Function>().Call(process, {Napi::String::New(env, "exit"), Napi::Function::New(env, end)});
}

}  // namespace mpmml::addon
