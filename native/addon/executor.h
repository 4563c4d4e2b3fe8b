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

/// What is left to be done on an executor's thread without a promise that waits for it.
class DetachedTask {
 public:
  virtual ~DetachedTask() = default;
  virtual void prune_completed() noexcept = 0;
};

/// Threads that start tasks in the order in which they were submitted. They are made when there are tasks for them, and
/// sleep when there are none. A task may go on after it has been started, on a GPU: then its thread starts the next one,
/// and finishes them in order.
class Executor : public std::enable_shared_from_this<Executor> {
 public:
  /// For products on the host: as many threads as Node's pool has, and as many again that wait for devices, so that these
  /// keep no other thread from the processors.
  static Executor& pool();

  /// For a device that `client` has opened: one thread, which calls its session.
  static std::shared_ptr<Executor> for_device(const Client& client);

  /// Throws Error if the system refuses the first thread.
  void submit(Task* task);

  /// Has `task` done on a thread before that sleeps. There is one chore of an executor; to ask again before it is done
  /// changes nothing. It isn't done if the executor is stopped before. Only while there is a thread.
  void ask_for(std::shared_ptr<DetachedTask> task);

  /// Whether it has no tasks.
  bool is_idle();

  /// Fails tasks that haven't been started and that `cancel` gives up.
  void withdraw(const std::atomic<int32_t>* cancel);

  /// Gives up the tasks of a client: drops what hasn't been started. Doesn't wait.
  void give_up(const Client* client);

  /// Returns when none of them runs.
  void wait_for(const Client* client);

  /// Its threads end after the tasks that have been submitted. Nothing may be submitted from then on.
  void stop();

  /// Gives up the tasks of a client on all executors, and waits for them for a limited time, because the process is
  /// about to end: a GPU that hangs must not keep the process from ending. Null: of all clients.
  static void detach_at_exit(const Client* client);

  /// `max_on_devices`: the most tasks at a time whose place is a device; 0: they aren't asked for their place. `max_threads`
  /// are for the others then.
  Executor(size_t max_threads, size_t max_in_flight, const Client* client, size_t max_on_devices = 0);

 private:
  struct Running {
    Client* client;
    Task* task;  ///< null after the client has been told, because it may then destroy the task
    Place place;
    bool is_given_up;
  };
  using Entry = std::list<Running>::iterator;

  /// What one thread has started and not finished, oldest first.
  struct ThreadQueue {
    std::deque<Entry> tasks;
    Clock::time_point last_progress{};
  };

  /// A whole task on the caller's thread, which is the only one.
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
  const Client* const client_;  ///< the only one; null if there may be several
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable ended_;
  std::deque<Task*> waiting_;
  std::deque<Task*> waiting_for_devices_;  ///< those whose place is known
  std::atomic<size_t> arrivals_{0};        ///< the size of waiting_, for threads that spin
  std::list<Running> running_;
  std::shared_ptr<DetachedTask> task_;         ///< null if there is none to do
  size_t on_processors_ = 0, on_devices_ = 0;  ///< tasks that run, if they are asked for their place
  size_t threads_ = 0;
  size_t idle_ = 0;      ///< threads with nothing in flight
  size_t spinning_ = 0;  ///< threads that look for tasks without being woken
  bool tidies_ = false;  ///< while the chore is being done
  bool stops_ = false;
  bool refuses_chores_ = false;
};

}  // namespace mpmml::addon
