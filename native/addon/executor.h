// The library's own threads: Node's pool has four, which files, DNS and zlib share.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>

#include "core/host/clock.h"

namespace mpmml::addon {

class Client;
class Task;
enum class Place : uint8_t;

/// Work on an executor's thread without a promise, done before the thread sleeps.
class DetachedTask {
 public:
  virtual ~DetachedTask() = default;
  virtual void prune_completed() noexcept = 0;
};

/// Threads that start tasks in the order in which they were submitted. They are created on demand, and sleep without
/// tasks. A started task may continue on a GPU. Its thread then starts the next task, and finishes the tasks in order.
class Executor : public std::enable_shared_from_this<Executor> {
 public:
  /// Returns the executor of products on the host: as many threads as Node's pool has, and as many again that wait for
  /// devices, so that waiting threads don't block the processors.
  static Executor& pool();

  /// Creates the executor of a device that `client` has opened: one thread, which calls the device's session.
  static std::shared_ptr<Executor> for_device(const Client& client);

  /// Queues a task. Throws Error if the system refuses the first thread.
  void submit(Task* task);

  /// Requests that a thread does `task` before it sleeps. An executor has one detached task; repeated requests before
  /// it is done have no effect. The task isn't done if the executor is stopped before, or has no thread.
  void ask_for(std::shared_ptr<DetachedTask> task);

  /// Returns whether the executor has no tasks.
  bool is_idle();

  /// Fails tasks that `cancel` cancels and that haven't been started.
  void withdraw(const std::atomic<int32_t>* cancel);

  /// Cancels the tasks of a client, and drops those that haven't been started. Doesn't wait.
  void abandon(const Client* client);

  /// Waits until no task of a client runs.
  void wait_for(const Client* client);

  /// Ends the threads after the submitted tasks. No task may be submitted afterwards.
  void stop();

  /// Cancels the tasks of a client (null: of all clients) on all executors when the process is about to end. Waits for
  /// them for a limited time, because a GPU that hangs must not keep the process from ending.
  static void detach_at_exit(const Client* client);

  /// `max_on_devices` is the maximum number of tasks that use a device, and `max_threads` that of the others. If
  /// it is 0, tasks aren't queried for the device that they use.
  Executor(size_t max_threads, size_t max_in_flight, const Client* client, size_t max_on_devices = 0);

 private:
  struct Running {
    Client* client;
    Task* task;  ///< null after the client has been notified, because it may then destroy the task
    Place place;
    bool is_aborted;
  };
  using Entry = std::list<Running>::iterator;

  /// Tasks that one thread has started and not finished, oldest first.
  struct ThreadQueue {
    std::deque<Entry> tasks;
    Clock::time_point last_progress{};
  };

  /// Runs a whole task on the caller's thread, in a process without other threads.
  void run_inline(Task* task);
  void add_thread();
  void serve();
  bool start_next(ThreadQueue& flight, std::unique_lock<std::mutex>& lock);
  bool finish_first(ThreadQueue& flight, std::unique_lock<std::mutex>& lock);
  void pause(ThreadQueue& flight, std::unique_lock<std::mutex>& lock);
  void spin(const ThreadQueue& flight, Clock::time_point end) const;
  void do_chore(std::unique_lock<std::mutex>& lock);
  bool can_start(const ThreadQueue& flight) const;
  bool has_room(Place place) const;
  bool has_next() const;
  bool goes_on(const Entry& entry, std::unique_lock<std::mutex>& lock);
  bool runs(const Client* client) const;

  const size_t max_threads_;
  const size_t max_in_flight_;  ///< of one thread
  const size_t max_on_devices_;
  const Client* const client_;  ///< the only client; null: any number of clients
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable ended_;
  std::deque<Task*> waiting_;
  std::deque<Task*> waiting_for_devices_;  ///< those whose place is known
  std::atomic<size_t> arrivals_{0};        ///< the size of waiting_, for threads that spin
  std::list<Running> running_;
  std::shared_ptr<DetachedTask> task_;         ///< the requested detached task, or null
  size_t on_processors_ = 0, on_devices_ = 0;  ///< running tasks by place, if max_on_devices_ > 0
  size_t threads_ = 0;
  size_t idle_ = 0;      ///< threads with nothing in flight
  size_t spinning_ = 0;  ///< threads that poll for tasks
  bool tidies_ = false;  ///< while the detached task is being done
  bool stops_ = false;
  bool refuses_chores_ = false;
};

}  // namespace mpmml::addon
