#include "addon/background.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/status.h"

namespace mpmml::addon {

/// The work of one environment.
class Background {
 public:
  explicit Background(Napi::Env env);

  Napi::Promise start(std::unique_ptr<Work> work);

  /// Gives up the work and waits until none of it runs, but only for a limited time, because the process is about to
  /// end.
  void end_before_process();

  /// Runs `work`; called by the dispatcher's threads, as tell() is afterwards.
  static void carry_out(Work* work);
  /// Tells the JavaScript thread that `work` is done, which may destroy it at once.
  void tell(Work* work);

 private:
  static void settle_finished(Napi::Env env, Napi::Function, Background* background, void*);
  using Signal = Napi::TypedThreadSafeFunction<Background, void, settle_finished>;

  void close();

  Signal signal_;
  std::vector<std::unique_ptr<Work>> unsettled_;  ///< only used on the JavaScript thread
  std::mutex mutex_;
  std::vector<Work*> finished_;  ///< guarded by mutex_
};

namespace {

/// The threads of the process: as many as Node's pool has. They are made when there is work for them, and sleep when
/// there is none.
class Dispatcher {
 public:
  static Dispatcher& instance() {
    // Never destroyed: at the end of the process the threads are still there.
    static Dispatcher* const dispatcher = new Dispatcher;
    return *dispatcher;
  }

  void submit(Background* owner, Work* work) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (idle_ <= waiting_.size() && threads_ < kMostThreads) add_thread();
    waiting_.push_back({owner, work});
    arrived_.notify_one();
  }

  /// Gives up the work of an environment; returns when none of it runs.
  void abandon(Background* owner) {
    std::unique_lock<std::mutex> lock(mutex_);
    give_up(owner);
    ended_.wait(lock, [&] { return !runs(owner); });
  }

  /// The same, before the process ends: a GPU that hangs must not keep the process from ending. Null: of all
  /// environments.
  void abandon_before_process_ends(Background* owner) {
    std::unique_lock<std::mutex> lock(mutex_);
    give_up(owner);
    ended_.wait_for(lock, kPatience, [&] { return !runs(owner); });
  }

 private:
  struct Task {
    Background* owner;
    Work* work;  ///< null after it has run, because its owner may then destroy it
  };

  static constexpr size_t kMostThreads = 4;
  static constexpr std::chrono::seconds kPatience{5};

  Dispatcher() {
    // For programs that call exit() without JavaScript's 'exit' event: see end_before_process_does().
    std::atexit([] { instance().abandon_before_process_ends(nullptr); });
  }

  static bool belongs(const Task& task, const Background* owner) { return !owner || task.owner == owner; }

  bool runs(const Background* owner) const {
    return std::any_of(running_.begin(), running_.end(), [&](const Task& task) { return belongs(task, owner); });
  }

  void give_up(const Background* owner) {
    const auto belongs_to_owner = [&](const Task& task) { return belongs(task, owner); };
    waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), belongs_to_owner), waiting_.end());
    for (const Task& task : running_) {
      if (task.work && belongs_to_owner(task)) task.work->give_up();
    }
  }

  void add_thread() {
    try {
      std::thread([this] { serve(); }).detach();
      ++threads_;
      ++idle_;
    } catch (const std::system_error& error) {
      // At its limit of threads the process works with the threads that it has.
      if (threads_ > 0) return;
      throw Error(ErrorCode::kOutOfMemory, std::string("the system refused to start a thread to compute on: ") +
                                               error.what() + "; mpmmSync needs none");
    }
  }

  [[noreturn]] void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      arrived_.wait(lock, [&] { return !waiting_.empty(); });
      const auto task = running_.insert(running_.end(), waiting_.front());
      waiting_.pop_front();
      --idle_;
      lock.unlock();
      Work* const work = task->work;
      Background::carry_out(work);
      lock.lock();
      task->work = nullptr;
      lock.unlock();
      task->owner->tell(work);
      lock.lock();
      ++idle_;
      running_.erase(task);
      ended_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable ended_;
  std::deque<Task> waiting_;
  std::list<Task> running_;
  size_t threads_ = 0;
  size_t idle_ = 0;
};

}  // namespace

Background::Background(Napi::Env env) : signal_(Signal::New(env, "mpmml", 0, 1, this)) {
  signal_.Unref(env);
  // After the signal, because hooks run in the reverse order: no thread may use a signal that is closed.
  env.AddCleanupHook([this] { close(); });
}

Napi::Promise Background::start(std::unique_ptr<Work> work) {
  const Napi::Env env = work->deferred_.Env();
  const Napi::Promise promise = work->deferred_.Promise();
  unsettled_.push_back(std::move(work));
  try {
    Dispatcher::instance().submit(this, unsettled_.back().get());
  } catch (...) {
    unsettled_.pop_back();
    throw;
  }
  if (unsettled_.size() == 1) signal_.Ref(env);
  return promise;
}

void Background::carry_out(Work* work) {
  try {
    work->run();
  } catch (...) {
    work->failure_ = current_failure();
  }
}

void Background::tell(Work* work) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    finished_.push_back(work);
  }
  signal_.NonBlockingCall();
}

void Background::settle_finished(Napi::Env env, Napi::Function, Background* background, void*) {
  if (static_cast<napi_env>(env) == nullptr) return;  // The environment is ending, and close() has been called.
  std::vector<Work*> finished;
  {
    std::lock_guard<std::mutex> lock(background->mutex_);
    finished.swap(background->finished_);
  }
  auto& unsettled = background->unsettled_;
  for (const Work* done : finished) {
    const auto place =
        std::find_if(unsettled.begin(), unsettled.end(), [&](const auto& it) { return it.get() == done; });
    const std::unique_ptr<Work> work = std::move(*place);
    unsettled.erase(place);
    if (unsettled.empty()) background->signal_.Unref(env);
    try {
      if (work->failure_) {
        work->deferred_.Reject(to_javascript(env, *work->failure_).Value());
      } else {
        work->deferred_.Resolve(work->result(env));
      }
    } catch (const Napi::Error&) {
      // The environment has been terminated: nobody can receive the result.
    }
  }
}

void Background::close() {
  Dispatcher::instance().abandon(this);
  // Node calls settle_finished() without an environment from now on, but Bun with one.
  finished_.clear();
  unsettled_.clear();
}

void Background::end_before_process() { Dispatcher::instance().abandon_before_process_ends(this); }

namespace {

/// Work has to end before exit() begins. process.exit() runs no cleanup hooks. exit() calls its atexit() handlers in
/// reverse order of registration, and CUDA registers its teardown when it is first used. So a handler that we
/// registered before that (for a product on the CPU) would run after CUDA's teardown, and threads inside CUDA would
/// crash the process. Registering again after CUDA's first use isn't enough: it leaves a gap of the hundreds of
/// milliseconds that this first use takes. JavaScript's 'exit' event comes before exit() is called, on this thread, and
/// so before any of these handlers.
void end_before_process_does(Napi::Env env) {
  const Napi::Value process = env.Global().Get("process");
  if (!process.IsObject()) return;
  const Napi::Value once = process.As<Napi::Object>().Get("once");
  if (!once.IsFunction()) return;
  const auto end = [](const Napi::CallbackInfo& info) {
    info.Env().GetInstanceData<Background>()->end_before_process();
  };
  once.As<Napi::Function>().Call(process, {Napi::String::New(env, "exit"), Napi::Function::New(env, end)});
}

}  // namespace

void open_background(Napi::Env env) {
  env.SetInstanceData(new Background(env));
  end_before_process_does(env);
}

Napi::Promise run_in_background(Napi::Env env, std::unique_ptr<Work> work) {
  return env.GetInstanceData<Background>()->start(std::move(work));
}

}  // namespace mpmml::addon
