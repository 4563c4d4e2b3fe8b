#include "addon/executor.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "addon/task.h"
#include "core/host/fault_injection.h"
#include "core/host/has_threads.h"
#include "core/status.h"

namespace mpmml::addon {
namespace {

using std::chrono::microseconds;

/// Waking a thread takes from 5 to 50 µs. So a thread that has just worked polls for tasks before it sleeps, and a
/// thread that waits for a GPU polls the GPU.
constexpr microseconds kSpinIdle{100};
constexpr microseconds kSpinInFlight{100};
/// Afterwards a thread sleeps between two polls of the GPU for 1/kPartOfWait of the time that it has waited.
constexpr int kPartOfWait = 64;
constexpr microseconds kLongestSleep{1000};

constexpr size_t kPoolThreads = 4, kPoolOnDevices = 4;
constexpr size_t kMaxInFlight = 64;
constexpr std::chrono::seconds kPatience{5};

/// With one processor, a spinning thread keeps the other threads from working.
bool may_spin() {
  static const bool is_multicore = std::thread::hardware_concurrency() > 1;
  return is_multicore;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// All executors of the process.
struct Registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<Executor>> executors;

  static Registry& instance() {
    // Never destroyed: threads still exist at the end of the process.
    static Registry* const registry = [] {
      // For programs that call exit() without JavaScript's 'exit' event: see end_before_process_does().
      std::atexit([] { Executor::detach_at_exit(nullptr); });
      return new Registry;
    }();
    return *registry;
  }

  std::shared_ptr<Executor> add(std::shared_ptr<Executor> executor) {
    std::lock_guard<std::mutex> lock(mutex);
    const auto is_gone = [](const std::weak_ptr<Executor>& it) { return it.expired(); };
    executors.erase(std::remove_if(executors.begin(), executors.end(), is_gone), executors.end());
    executors.push_back(executor);
    return executor;
  }

  std::vector<std::shared_ptr<Executor>> all() {
    std::lock_guard<std::mutex> lock(mutex);
    std::vector<std::shared_ptr<Executor>> alive;
    for (const auto& executor : executors) {
      if (auto it = executor.lock()) alive.push_back(std::move(it));
    }
    return alive;
  }
};

bool belongs(const Client* of, const Client* client) { return !client || of == client; }

}  // namespace

Executor::Executor(size_t max_threads, size_t max_in_flight, const Client* client, size_t max_on_devices)
    : max_threads_(max_threads), max_in_flight_(max_in_flight), max_on_devices_(max_on_devices), client_(client) {}

Executor& Executor::pool() {
  static auto* const executor = new std::shared_ptr<Executor>(
      Registry::instance().add(std::make_shared<Executor>(kPoolThreads, 1, nullptr, kPoolOnDevices)));
  return **executor;
}

std::shared_ptr<Executor> Executor::for_device(const Client& client) {
  return Registry::instance().add(std::make_shared<Executor>(1, kMaxInFlight, &client));
}

void Executor::submit(Task* task) {
  if (!kHasThreads) return run_inline(task);
  std::lock_guard<std::mutex> lock(mutex_);
  if (idle_ <= waiting_.size() && threads_ < max_threads_ + on_devices_) add_thread();
  waiting_.push_back(task);
  arrivals_.store(waiting_.size(), std::memory_order_relaxed);
  // Spinning threads check the queue again before they sleep.
  if (spinning_ < waiting_.size()) arrived_.notify_one();
}

void Executor::run_inline(Task* task) {
  if (max_on_devices_ > 0) task->place();
  task->try_start();
  while (!task->can_finish()) {
  }
  task->try_finish();
  task->client()->tell(task);
}

void Executor::ask_for(std::shared_ptr<DetachedTask> task) {
  if (!kHasThreads) return task->prune_completed();
  std::lock_guard<std::mutex> lock(mutex_);
  if (task_ || stops_ || refuses_chores_) return;
  task_ = std::move(task);
  arrived_.notify_one();
}

bool Executor::is_idle() {
  std::lock_guard<std::mutex> lock(mutex_);
  return waiting_.empty() && waiting_for_devices_.empty() && running_.empty();
}

void Executor::add_thread() {
  try {
    before_thread();
    std::thread([self = shared_from_this()] { self->serve(); }).detach();
    ++threads_;
    ++idle_;
  } catch (const std::exception& error) {
    // The process is at its limit of threads: the executor works with the existing ones.
    if (threads_ > 0) return;
    throw Error(ErrorCode::kOutOfMemory, std::string("the system refused to start a thread to compute on: ") +
                                             error.what() + "; mpmmSync needs none");
  }
}

void Executor::withdraw(const std::atomic<int32_t>* cancel) {
  std::vector<Task*> withdrawn;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (std::deque<Task*>* queue : {&waiting_, &waiting_for_devices_}) {
      const auto kept = std::stable_partition(queue->begin(), queue->end(),
                                              [&](const Task* task) { return task->cancel() != cancel; });
      withdrawn.insert(withdrawn.end(), kept, queue->end());
      queue->erase(kept, queue->end());
    }
    arrivals_.store(waiting_.size(), std::memory_order_relaxed);
    // The failure must be recorded before dependent tasks can start.
    for (Task* task : withdrawn) task->withdraw();
  }
  for (Task* task : withdrawn) task->client()->tell(task);
}

void Executor::abandon(const Client* client) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (std::deque<Task*>* queue : {&waiting_, &waiting_for_devices_}) {
    const auto is_of_client = [&](const Task* task) { return belongs(task->client(), client); };
    queue->erase(std::remove_if(queue->begin(), queue->end(), is_of_client), queue->end());
  }
  arrivals_.store(waiting_.size(), std::memory_order_relaxed);
  for (Running& it : running_) {
    if (!it.task || !belongs(it.client, client)) continue;
    it.is_aborted = true;
    it.task->abandon();
  }
}

bool Executor::runs(const Client* client) const {
  return (tidies_ && belongs(client_, client)) ||
         std::any_of(running_.begin(), running_.end(), [&](const Running& it) { return belongs(it.client, client); });
}

void Executor::wait_for(const Client* client) {
  std::unique_lock<std::mutex> lock(mutex_);
  ended_.wait(lock, [&] { return !runs(client); });
}

void Executor::detach_at_exit(const Client* client) {
  const auto executors = Registry::instance().all();
  std::vector<std::shared_ptr<DetachedTask>> dropped;
  for (const auto& executor : executors) {
    executor->abandon(client);
    if (!belongs(executor->client_, client)) continue;
    std::lock_guard<std::mutex> lock(executor->mutex_);
    executor->refuses_chores_ = true;
    dropped.push_back(std::move(executor->task_));
  }
  const auto latest = Clock::now() + kPatience;
  for (const auto& executor : executors) {
    std::unique_lock<std::mutex> lock(executor->mutex_);
    executor->ended_.wait_until(lock, latest, [&] { return !executor->runs(client); });
  }
}

void Executor::stop() {
  std::shared_ptr<DetachedTask> dropped;
  std::lock_guard<std::mutex> lock(mutex_);
  stops_ = true;
  dropped = std::move(task_);
  arrived_.notify_all();
}

void Executor::serve() {
#if defined(__linux__)
  // The system may otherwise wake a thread 50 µs late.
  prctl(PR_SET_TIMERSLACK, 1000UL);
#endif
  ThreadQueue flight;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    const bool started = start_next(flight, lock);
    const bool finished = finish_first(flight, lock);
    if (started || finished) {
      flight.last_progress = Clock::now();
    } else if (stops_ && waiting_.empty() && flight.tasks.empty()) {
      return;
    } else {
      pause(flight, lock);
    }
  }
}

bool Executor::can_start(const ThreadQueue& flight) const { return flight.tasks.size() < max_in_flight_; }

bool Executor::has_room(Place place) const {
  if (max_on_devices_ == 0) return true;
  return place == Place::kDevice ? on_devices_ < max_on_devices_ : on_processors_ < max_threads_;
}

/// Returns whether a task may be started now.
bool Executor::has_next() const {
  return (!waiting_for_devices_.empty() && has_room(Place::kDevice)) ||
         (!waiting_.empty() && has_room(Place::kProcessor));
}

/// Starts the oldest task that may be started, if there is one. The lock is held before and after, like in the
/// functions below.
bool Executor::start_next(ThreadQueue& flight, std::unique_lock<std::mutex>& lock) {
  if (!has_next() || !can_start(flight)) return false;
  const bool is_placed = !waiting_for_devices_.empty() && has_room(Place::kDevice);
  std::deque<Task*>& queue = is_placed ? waiting_for_devices_ : waiting_;
  Task* const task = queue.front();
  queue.pop_front();
  arrivals_.store(waiting_.size(), std::memory_order_relaxed);
  if (flight.tasks.empty()) --idle_;
  const Place place = is_placed ? Place::kDevice : Place::kProcessor;
  ++(is_placed ? on_devices_ : on_processors_);
  const Entry entry = running_.insert(running_.end(), {task->client(), task, place, false});
  flight.tasks.push_back(entry);
  if (max_on_devices_ > 0 && !is_placed && !goes_on(entry, lock)) {
    flight.tasks.pop_back();
    running_.erase(entry);
    ++idle_;
    ended_.notify_all();
    return true;
  }
  lock.unlock();
  task->try_start();
  lock.lock();
  return true;
}

/// Determines the place of a task. A task for a device frees its slot on the processors. Returns whether the task can
/// be started; otherwise it waits for a device.
bool Executor::goes_on(const Entry& entry, std::unique_lock<std::mutex>& lock) {
  Task* const task = entry->task;
  lock.unlock();
  const Place place = task->place();
  lock.lock();
  if (place == Place::kProcessor) return true;
  --on_processors_;
  // A task that was cancelled meanwhile was in no queue, so it is started and fails.
  const bool is_aborted = entry->is_aborted || (task->cancel() && task->cancel()->load(std::memory_order_relaxed));
  const bool has_place = is_aborted || has_room(Place::kDevice);
  if (has_place) {
    entry->place = Place::kDevice;
    ++on_devices_;
  } else {
    waiting_for_devices_.push_back(task);
  }
  // A waiting task may be for a processor.
  if (waiting_.empty() || !has_place) return has_place;
  if (idle_ > 0) {
    arrived_.notify_one();
  } else if (threads_ < max_threads_ + on_devices_) {
    try {
      add_thread();
    } catch (...) {
      // The task waits until this thread is free.
    }
  }
  return true;
}

bool Executor::finish_first(ThreadQueue& flight, std::unique_lock<std::mutex>& lock) {
  if (flight.tasks.empty()) return false;
  const Entry entry = flight.tasks.front();
  Task* const task = entry->task;
  lock.unlock();
  const bool is_done = task->can_finish();
  if (is_done) task->try_finish();
  lock.lock();
  if (!is_done) return false;
  entry->task = nullptr;
  lock.unlock();
  entry->client->tell(task);
  lock.lock();
  flight.tasks.pop_front();
  --(entry->place == Place::kDevice ? on_devices_ : on_processors_);
  running_.erase(entry);
  if (flight.tasks.empty()) ++idle_;
  ended_.notify_all();
  return true;
}

/// Waits a limited time for new tasks or for the oldest task in flight.
void Executor::pause(ThreadQueue& flight, std::unique_lock<std::mutex>& lock) {
  const auto now = Clock::now();
  const auto spins_until = flight.last_progress + (flight.tasks.empty() ? kSpinIdle : kSpinInFlight);
  if (now < spins_until && spinning_ == 0 && may_spin()) {
    ++spinning_;
    lock.unlock();
    spin(flight, spins_until);
    lock.lock();
    --spinning_;
  } else if (!flight.tasks.empty()) {
    const auto part = std::chrono::duration_cast<microseconds>(now - flight.last_progress) / kPartOfWait;
    arrived_.wait_for(lock, std::clamp(part, microseconds{5}, kLongestSleep));
  } else if (task_) {
    do_chore(lock);
  } else {
    arrived_.wait(lock, [&] { return has_next() || task_ || stops_; });
  }
}

void Executor::do_chore(std::unique_lock<std::mutex>& lock) {
  std::shared_ptr<DetachedTask> task = std::move(task_);
  tidies_ = true;
  lock.unlock();
  task->prune_completed();
  task.reset();
  lock.lock();
  tidies_ = false;
  ended_.notify_all();
}

void Executor::spin(const ThreadQueue& flight, Clock::time_point end) const {
  // Only this thread finishes its tasks in flight.
  Task* const first = flight.tasks.empty() ? nullptr : flight.tasks.front()->task;
  do {
    for (int turn = 0; turn < 16; ++turn) {
      if (can_start(flight) && arrivals_.load(std::memory_order_relaxed) > 0) return;
      relax();
    }
    if (first && first->can_finish()) return;
  } while (Clock::now() < end);
}

}  // namespace mpmml::addon
